package report

import (
	"errors"
	"fmt"
	"time"
)

// ErrWindow is returned for times that bound no window.
var ErrWindow = errors.New("no window")

// Window is the time from From on and before To, both in UTC.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// NewWindow returns the window between two instants; ErrWindow unless the first is before the second.
func NewWindow(from, to time.Time) (Window, error) {
	if !from.Before(to) {
		return Window{}, fmt.Errorf("%w: %s is not before %s", ErrWindow, shortTime(from), shortTime(to))
	}
	return Window{from.UTC(), to.UTC()}, nil
}

// Month returns the window of a month of UTC such as "2026-10"; ErrWindow for another word.
func Month(word string) (Window, error) {
	from, err := time.Parse("2006-01", word)
	if err != nil {
		return Window{}, fmt.Errorf("%w: %q is no month such as 2026-10", ErrWindow, word)
	}
	return Window{from, from.AddDate(0, 1, 0)}, nil
}

// Contains reports whether the instant is in the window.
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// String says the window for people: "2026-10-01 to 2026-10-31 (UTC)" where it is of whole days, else with the times.
func (w Window) String() string {
	from, to := w.From.UTC(), w.To.UTC()
	if from.Equal(startOfDay(from)) && to.Equal(startOfDay(to)) {
		return fmt.Sprintf("%s to %s (UTC)", from.Format(time.DateOnly), to.AddDate(0, 0, -1).Format(time.DateOnly))
	}
	return fmt.Sprintf("from %s, before %s (UTC)", shortTime(from), shortTime(to))
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// shortTime is an instant in UTC for people, to the second.
func shortTime(t time.Time) string { return t.UTC().Format(time.DateTime) }
