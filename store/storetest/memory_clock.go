package storetest

import (
	"sync"
	"time"
)

// tolerance is how far the wall clock may depart from the time that has passed and still be believed.
const tolerance = 5 * time.Minute

// clock is the stores' clock: a wall clock that tests may set, and a monotonic one that they may only let run.
type clock struct {
	mu      sync.Mutex
	start   time.Time     // the process's clock when this one was made
	passed  time.Duration // by advance
	stepped time.Duration // how far the wall clock was set
	trusted time.Duration // the part of stepped that is believed
	atOpen  time.Duration // stepped when the first store was opened
	last    time.Time     // the newest time that was told
	wrong   time.Time     // when the wall clock was last found to be wrong
	astray  bool          // it is wrong now
}

func newClock() clock { return clock{start: time.Now()} }

// open begins anew: the wall clock is believed, whatever it says.
func (c *clock) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted, c.atOpen, c.astray = c.stepped, c.stepped, false
	behind := c.read().Before(c.last)
	c.last, c.wrong = time.Time{}, time.Time{}
	if behind {
		c.wrong = c.tell()
	}
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// set steps to a time.
func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepTo(at.Sub(c.start.Add(time.Since(c.start) + c.passed)))
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepTo(c.stepped + d)
}

func (c *clock) stepTo(d time.Duration) {
	c.stepped = d
	astray := (c.stepped - c.atOpen).Abs() > tolerance
	if !astray {
		c.trusted = c.stepped
	} else if !c.astray {
		c.wrong = c.tell()
	}
	c.astray = astray
}

// read returns the time as far as it is believed.
func (c *clock) read() time.Time {
	t := c.start.Add(time.Since(c.start) + c.passed + c.trusted)
	return t.UTC().Truncate(time.Microsecond)
}

// tell returns the time, which never goes back.
func (c *clock) tell() time.Time {
	if t := c.read(); t.After(c.last) {
		c.last = t
	}
	return c.last
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tell()
}

func (c *clock) uncertainSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}
