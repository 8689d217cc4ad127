package boltstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// handClock is a machine's clocks, moved by hand.
type handClock struct {
	wall    time.Time
	elapsed time.Duration
}

func (h *handClock) read() (time.Time, time.Duration) { return h.wall, h.elapsed }

// pass lets time pass on both clocks.
func (h *handClock) pass(d time.Duration) {
	h.wall = h.wall.Add(d)
	h.elapsed += d
}

// TestClock moves the wall clock in every way and watches the store's.
func TestClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 22, 9, 0, 0, 123456789, time.FixedZone("", 3600))
	at := func(d time.Duration) time.Time { return start.Add(d).UTC().Truncate(time.Microsecond) }
	type step struct {
		why    string
		passes time.Duration // on both clocks
		jumps  time.Duration // of the wall clock, afterwards
		want   time.Duration // what the store's clock says, since the start
		alerts int           // so far
	}
	for name, steps := range map[string][]step{
		"right": {
			{"time passes", time.Hour, 0, time.Hour, 0},
			{"the wall clock is put right by a minute", 0, time.Minute, time.Hour + time.Minute, 0},
		},
		"set back a little": {
			{"a minute back", time.Hour, -time.Minute, time.Hour - time.Minute, 0},
			{"it does not stand still: half a minute in a minute", time.Minute, 0, time.Hour, 0},
		},
		"set back a little, seen before": {
			{"an hour", time.Hour, 0, time.Hour, 0},
			{"a minute back: the clock stays", 0, -time.Minute, time.Hour, 0},
			{"it runs at half speed", time.Minute, 0, time.Hour + 30*time.Second, 0},
			{"until the wall clock has caught up", time.Minute, 0, time.Hour + time.Minute, 0},
			{"and follows it", time.Minute, 0, time.Hour + 2*time.Minute, 0},
		},
		"set forward by two hours, and back": {
			{"an hour", time.Hour, 0, time.Hour, 0},
			{"the jump is not followed", time.Second, 2 * time.Hour, time.Hour + time.Second, 1},
			{"monotonic time goes on", time.Hour, 0, 2*time.Hour + time.Second, 1},
			{"a further jump is no news", time.Second, 3 * time.Hour, 2*time.Hour + 2*time.Second, 1},
			{"right again", time.Second, -5 * time.Hour, 2*time.Hour + 3*time.Second, 1},
			{"wrong again", time.Second, -5 * time.Hour, 2*time.Hour + 4*time.Second, 2},
		},
		"set back by a year": {
			{"not followed, and nothing freezes", time.Second, -365 * 24 * time.Hour, time.Second, 1},
			{"monotonic time goes on", time.Second, 0, 2 * time.Second, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := &handClock{wall: start}
			c := newClockWith(slog.New(slog.NewTextHandler(&log, nil)), h.read)
			for _, s := range steps {
				h.pass(s.passes)
				h.wall = h.wall.Add(s.jumps)
				if got := c.now(); !got.Equal(at(s.want)) || got.Location() != time.UTC {
					t.Errorf("%s: the clock says %v since the start, want %v", s.why, got.Sub(start), s.want)
				}
				if n := strings.Count(log.String(), "ALERT"); n != s.alerts {
					t.Errorf("%s: %d alerts, want %d", s.why, n, s.alerts)
				}
				doubt := c.uncertainSince()
				if doubt.IsZero() != (s.alerts == 0) || doubt.After(c.now().Add(time.Microsecond)) {
					t.Errorf("%s: uncertain since %v", s.why, doubt)
				}
			}
		})
	}
}

// TestClockDoubt checks that what was written behind a jump can be told the age of: monotonic time has gone on since.
func TestClockDoubt(t *testing.T) {
	t.Parallel()
	h := &handClock{wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	c := newClockWith(slog.New(slog.DiscardHandler), h.read)
	before := c.now()
	h.pass(time.Minute)
	h.wall = h.wall.Add(time.Hour)
	after := c.now()
	h.pass(time.Hour)
	c.now()
	if doubt := c.uncertainSince(); !before.Before(doubt) || after.Before(doubt) {
		t.Errorf("uncertain since %v; %v lies before the jump and %v behind it", doubt, before, after)
	}
}

// TestEveryWriteHasALaterTime has the clocks stand still.
func TestEveryWriteHasALaterTime(t *testing.T) {
	t.Parallel()
	h := &handClock{wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	c := newClockWith(slog.New(slog.DiscardHandler), h.read)
	last := c.now()
	for range 5 {
		next := c.next()
		if !next.After(last) && !last.Equal(h.wall) {
			t.Errorf("%v behind %v", next, last)
		}
		if read := c.now(); !read.Equal(next) {
			t.Errorf("a reader is at %v, the write before it was at %v", read, next)
		}
		last = next
	}
	h.pass(time.Second)
	if got := c.next(); !got.Equal(h.wall) {
		t.Errorf("the clocks go on, and this one is at %v", got)
	}
}

// TestClockBehindRecords opens a store whose newest audit entry is of the future: that is told, and the time is the
// wall clock's all the same.
func TestClockBehindRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead time.Duration
		alert bool
	}{{365 * 24 * time.Hour, true}, {2 * time.Hour, true}, {0, false}, {-time.Hour, false}} {
		path := newPath(t)
		s := open(t, path)
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			return errors.Join(tx.AppendAudit(&approvals.AuditEntry{Workspace: "T0", Seq: 1, At: tx.Now()}),
				tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", Seq: 1, At: tx.Now().Add(c.ahead)}))
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		before := time.Now()
		s, err = Open(path, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		alert := strings.Contains(log.String(), "ALERT")
		if alert != c.alert || s.UncertainSince().IsZero() == c.alert {
			t.Errorf("a record %v ahead: alert %v, uncertain since %v", c.ahead, alert, s.UncertainSince())
		}
		err = s.View(t.Context(), func(tx approvals.Tx) error {
			if now := tx.Now(); now.Before(before.Truncate(time.Microsecond)) || now.After(time.Now()) {
				t.Errorf("a record %v ahead: the store's time is %v", c.ahead, now)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
