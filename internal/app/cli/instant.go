package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// instant returns the setter of a flag that takes a TIME.
func instant(t *time.Time) func(string) error {
	return func(value string) (err error) {
		*t, err = readInstant(value, time.Now())
		return err
	}
}

// readInstant reads a date and time as in RFC 3339, or how long before now: "90m", "24h", "7d".
func readInstant(value string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t, nil
	}
	if back, err := readDuration(value); err == nil && back >= 0 {
		return now.Add(-back), nil
	}
	return time.Time{}, fmt.Errorf(
		"it is a date and time as in RFC 3339, such as %s, or how long ago, such as 24h or 7d",
		now.UTC().Format(time.RFC3339))
}

const day = 24 * time.Hour

// readDuration reads a duration as Go does, or a number of days such as "7d".
func readDuration(value string) (time.Duration, error) {
	number, inDays := strings.CutSuffix(value, "d")
	if !inDays {
		return time.ParseDuration(value)
	}
	days, err := strconv.ParseUint(number, 10, 16)
	return time.Duration(days) * day, err
}
