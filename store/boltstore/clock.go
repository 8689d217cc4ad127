package boltstore

import (
	"log/slog"
	"sync"
	"time"
)

// clockTolerance is by how much the wall clock may disagree with the monotonic time since the store was opened.
const clockTolerance = 5 * time.Minute

// clock is the store's time: approvals.Tx.Now describes it. It never goes back. While the wall clock is right the
// clock follows it; where the wall clock has been set back a little, it runs at half speed until the wall clock has
// caught up. While the wall clock is wrong the clock counts monotonic time.
type clock struct {
	read func() (wall time.Time, elapsed time.Duration) // elapsed is monotonic, since the clock was made
	log  *slog.Logger

	mu        sync.Mutex
	opened    time.Time     // the wall clock when the clock was made
	last      time.Time     // what now has returned last
	at        time.Duration // elapsed then
	given     time.Time     // what next has returned last
	wrong     bool          // the wall clock is off
	uncertain time.Time
}

func newClock(log *slog.Logger) *clock {
	start := time.Now()
	return newClockWith(log, func() (time.Time, time.Duration) {
		t := time.Now()
		return t.Round(0), t.Sub(start)
	})
}

func newClockWith(log *slog.Logger, read func() (wall time.Time, elapsed time.Duration)) *clock {
	c := &clock{read: read, log: log}
	wall, elapsed := read()
	c.opened, c.last, c.at = wall.Add(-elapsed), wall, elapsed
	return c
}

// next returns the time as now does, but later than it ever has returned: the order of writes is that of their times.
func (c *clock) next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tell()
	if !t.After(c.given) {
		t = c.given.Add(time.Microsecond)
	}
	c.given = t
	return t
}

// now returns the time in UTC and whole microseconds.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tell(); t.After(c.given) {
		return t
	}
	return c.given
}

// tell reads the clocks. The caller holds mu.
func (c *clock) tell() time.Time {
	wall, elapsed := c.read()
	step := max(elapsed-c.at, 0)
	next := c.last.Add(step)
	if c.agrees(wall, elapsed) {
		next = wall
		if slow := c.last.Add(step / 2); next.Before(slow) {
			next = slow
		}
	}
	c.last, c.at = next, max(elapsed, c.at)
	return next.UTC().Truncate(time.Microsecond)
}

// agrees reports whether the wall clock agrees with monotonic time, and raises an alert when it does no longer.
func (c *clock) agrees(wall time.Time, elapsed time.Duration) bool {
	off := wall.Sub(c.opened.Add(elapsed))
	wrong := off.Abs() > clockTolerance
	if wrong != c.wrong {
		c.wrong = wrong
		c.changed(off.Round(time.Second), wall, elapsed)
	}
	return !wrong
}

// changed raises an alert, or says that it is over.
func (c *clock) changed(off time.Duration, wall time.Time, elapsed time.Duration) {
	if !c.wrong {
		c.log.Warn("the wall clock agrees with monotonic time again; the store follows it", "off", off)
		return
	}
	c.uncertain = c.last.Add(max(elapsed-c.at, 0)).UTC().Truncate(time.Microsecond)
	c.log.Error("ALERT: the wall clock has jumped; the store goes on with monotonic time. Set the clock right, or "+
		"restart the program if it is right now", "off", off, "wall", wall, "store", c.uncertain)
}

// behind raises an alert: the store holds records that are newer than the wall clock, which was wrong when they were
// written or is wrong now.
func (c *clock) behind(newest time.Time) {
	now := c.now()
	c.log.Error("ALERT: the wall clock is behind the newest record of the store: it was wrong then, or is wrong now",
		"wall", now, "record", newest)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uncertain = now
}

func (c *clock) uncertainSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uncertain
}
