package humanize

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   time.Duration
		want string
	}{
		{-time.Hour, "0 s"},
		{0, "0 s"},
		{time.Minute - 1, "59 s"},
		{time.Minute, "1 min"},
		{time.Hour - 1, "59 min"},
		{time.Hour, "1 h 0 min"},
		{47*time.Hour + 59*time.Minute, "47 h 59 min"},
		{48 * time.Hour, "2 days"},
		{400 * 24 * time.Hour, "400 days"},
	} {
		if got := Duration(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.in, got, c.want)
		}
	}
}
