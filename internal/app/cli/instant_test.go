package cli

import (
	"testing"
	"time"
)

// TestInstant reads points in time and how long ago.
func TestInstant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 8, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Time{
		"2026-11-02T15:04:05Z":      time.Date(2026, 11, 2, 15, 4, 5, 0, time.UTC),
		"2026-11-02T15:04:05+02:00": time.Date(2026, 11, 2, 13, 4, 5, 0, time.UTC),
		"24h":                       now.AddDate(0, 0, -1),
		"7d":                        now.AddDate(0, 0, -7),
		"90m":                       now.Add(-90 * time.Minute),
		"1h30m":                     now.Add(-90 * time.Minute),
		"0s":                        now,
	} {
		if got, err := readInstant(value, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", value, got, err, want)
		}
	}
	for _, value := range []string{"", "7", "d", "-7d", "-1h", "7 d", "1.5d", "99999d", "2026-11-02", "tomorrow"} {
		if got, err := readInstant(value, now); err == nil {
			t.Errorf("%q was read as %s", value, got)
		}
	}
}
