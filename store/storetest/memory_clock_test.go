package storetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// inTime runs fn with a store, in a bubble: time passes only by what fn does.
func inTime(t *testing.T, fn func(t *testing.T, m *Memory, s *suite)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
		defer cancel()
		m := NewMemory()
		s := &suite{TB: t, ctx: ctx, harness: Harness{Open: m.Open}, store: m.Open()}
		defer func() { s.store.Close() }()
		fn(t, m, s)
	})
}

func (s *suite) doubt() time.Time { return s.store.(approvals.Clock).UncertainSince() }

func TestClockAdvance(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		ids, handle := handled()
		defer s.dispatch(handle)()
		j := job("tomorrow")
		begin := s.now()
		j.Due = begin.Add(24 * time.Hour)
		s.enqueue(j)
		m.Advance(24*time.Hour - time.Microsecond)
		synctest.Wait()
		if len(ids) != 0 {
			t.Error("a job was handled before it was due")
		}
		m.Advance(time.Microsecond)
		await(s, "the job that is due", ids)
		if passed := s.now().Sub(begin); passed != 24*time.Hour || !m.Now().Equal(s.now()) {
			t.Errorf("%v have passed, want 24h", passed)
		}
		if !s.doubt().IsZero() {
			t.Errorf("the clock is in doubt since %v, though time has only passed", s.doubt())
		}
	})
}

// TestClockStep sets the wall clock: a little is followed, much is not believed, and time never goes back.
func TestClockStep(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		begin := s.now()
		expect := func(what string, passed, doubt time.Duration) {
			t.Helper()
			if got := s.now().Sub(begin); got != passed {
				t.Errorf("%s: %v have passed, want %v", what, got, passed)
			}
			if got := s.doubt(); doubt < 0 != got.IsZero() || doubt >= 0 && got.Sub(begin) != doubt {
				t.Errorf("%s: in doubt since %v, want %v after the beginning", what, got, doubt)
			}
		}
		m.Step(4 * time.Minute)
		expect("4 minutes ahead", 4*time.Minute, -1)
		m.Step(2 * time.Minute)
		expect("6 minutes ahead", 4*time.Minute, 4*time.Minute)
		m.Advance(time.Minute)
		expect("6 minutes ahead, a minute later", 5*time.Minute, 4*time.Minute)
		m.Step(-5 * time.Minute)
		expect("one minute ahead again", 5*time.Minute, 4*time.Minute) // stands still
		m.Advance(4 * time.Minute)
		expect("one minute ahead, 5 minutes later", 6*time.Minute, 4*time.Minute)
		m.Step(-24 * time.Hour)
		expect("a day behind", 6*time.Minute, 6*time.Minute)
		m.Advance(time.Hour)
		expect("a day behind, an hour later", 66*time.Minute, 6*time.Minute)
	})
}

// TestClockOpen believes the wall clock when a store is opened and none was open.
func TestClockOpen(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, m *Memory, s *suite) {
		begin := s.now()
		another := m.Open()
		s.must(s.store.Close())
		m.Step(-time.Hour)
		s.store = m.Open() // the other one never was closed
		if at := s.now(); at.Before(begin) {
			t.Errorf("now is %v before what it was, with a store open all the time", begin.Sub(at))
		}
		s.must(another.Close())
		s.reopen()
		if got := begin.Sub(s.now()); got != time.Hour || !s.doubt().Equal(s.now()) {
			t.Errorf("after everything was closed now is %v back, in doubt since %v; want an hour, and now",
				got, s.doubt())
		}
		s.must(s.store.Close())
		m.Set(begin.Add(time.Hour))
		s.store = m.Open()
		if got := s.now().Sub(begin); got != time.Hour || !s.doubt().IsZero() {
			t.Errorf("now is %v ahead, in doubt since %v; want an hour, and no doubt", got, s.doubt())
		}
	})
}
