package pgstore

import (
	"log/slog"
	"sync"
	"time"
)

// clockTolerance is how far the server's clock may depart from the time that has passed here and still be believed.
const clockTolerance = 5 * time.Minute

// clock is the store's time: what the server's clock says at the beginning of a transaction, as approvals.Tx.Now
// describes it. It never goes back: where the server's clock was set back a little, it runs at half speed until that
// has caught up. While the server's clock is wrong it counts monotonic time of this process.
type clock struct {
	log *slog.Logger

	mu        sync.Mutex
	opened    time.Time     // the server's clock at an elapsed time of zero
	last      time.Time     // what tell has returned last
	at        time.Duration // elapsed then
	ahead     bool          // of the server's clock, which it waits for
	wrong     bool
	uncertain time.Time
}

// newClock begins with what the server's clock says at the elapsed time.
func newClock(log *slog.Logger, wall time.Time, elapsed time.Duration) *clock {
	wall = wall.UTC().Truncate(time.Microsecond)
	return &clock{log: log, opened: wall.Add(-elapsed), last: wall, at: elapsed}
}

// tell returns the time in UTC and whole microseconds. The server's clock said wall at some moment between the two.
func (c *clock) tell(wall time.Time, before, after time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	step := max(before-c.at, 0) // what has passed at least since the last one
	next := c.last.Add(step)
	c.ahead = false
	if c.agrees(wall, before, after, next) {
		if next = wall; wall.Before(c.last) {
			next, c.ahead = c.last.Add(step/2), true
		}
	}
	c.last, c.at = next.UTC().Truncate(time.Microsecond), max(after, c.at)
	return c.last
}

// now returns the time without asking the server: what has passed since it was asked last is counted here.
func (c *clock) now(elapsed time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	step := max(elapsed-c.at, 0).Truncate(2 * time.Microsecond)
	c.at += step
	if c.ahead {
		step /= 2
	}
	c.last = c.last.Add(step)
	return c.last
}

// agrees reports whether the server's clock agrees with monotonic time, and raises an alert when it does no longer.
func (c *clock) agrees(wall time.Time, before, after time.Duration, next time.Time) bool {
	early, late := c.opened.Add(before), c.opened.Add(after)
	wrong := wall.Before(early.Add(-clockTolerance)) || wall.After(late.Add(clockTolerance))
	if wrong != c.wrong {
		c.wrong = wrong
		c.changed(wall.Sub(late).Round(time.Second), wall, next)
	}
	return !wrong
}

// changed raises an alert, or says that it is over.
func (c *clock) changed(off time.Duration, wall, now time.Time) {
	if !c.wrong {
		c.log.Warn("the database server's clock agrees with monotonic time again; the store follows it", "off", off)
		return
	}
	c.uncertain = now.UTC().Truncate(time.Microsecond)
	c.log.Error("ALERT: the database server's clock has jumped; the store goes on with monotonic time. Set the clock "+
		"right, or restart the program if it is right now", "off", off, "server", wall, "store", c.uncertain)
}

// behind raises an alert: the store holds records that are newer than the server's clock, which was wrong when they
// were written or is wrong now.
func (c *clock) behind(newest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncertain = c.last
	c.log.Error("ALERT: the database server's clock is behind the newest record of the store: it was wrong then, or "+
		"is wrong now", "server", c.last, "record", newest)
}

func (c *clock) uncertainSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uncertain
}
