package bot

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

func TestCardsYieldToAcknowledgements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newRightOfWay()
		yielded := func(ctx context.Context) time.Duration {
			began := time.Now()
			w.yield(ctx)
			return time.Since(began)
		}
		if d := yielded(t.Context()); d != 0 {
			t.Errorf("waited %s for nothing", d)
		}
		w.enter()
		w.enter()
		if d := yielded(t.Context()); d != mostYield {
			t.Errorf("behind clicks without end it waited %s", d)
		}
		for _, after := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond} {
			time.AfterFunc(after, w.leave)
		}
		if d := yielded(t.Context()); d != 30*time.Millisecond+pause {
			t.Errorf("it waited %s; the last acknowledgement was written after 30 ms", d)
		}
		if d := yielded(t.Context()); d != 0 {
			t.Errorf("waited %s for nothing", d)
		}
		w.enter() // a click alone: its card need not wait for the next one
		time.AfterFunc(10*time.Millisecond, w.leave)
		if d := yielded(t.Context()); d != 10*time.Millisecond {
			t.Errorf("behind one click it waited %s", d)
		}
		w.enter()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if d := yielded(ended); d != 0 {
			t.Errorf("waited %s although told to stop", d)
		}
	})
}

// TestUpdatesAreFewWhilePeopleClick: however many cards wait, what they take from the acknowledgements is bounded, and
// they all get on once the clicks have ended.
func TestUpdatesAreFewWhilePeopleClick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const cards = 10 * yielders
		w := newRightOfWay()
		for range 2 {
			w.enter()
			time.AfterFunc(3*mostYield-pause, w.leave)
		}
		began := time.Now()
		var after [cards]time.Duration
		var all sync.WaitGroup
		for i := range cards {
			all.Go(func() {
				w.yield(t.Context())
				after[i] = time.Since(began)
			})
		}
		all.Wait()
		when := make(map[time.Duration]int)
		for _, d := range after {
			when[d]++
		}
		want := map[time.Duration]int{
			mostYield: yielders, 2 * mostYield: yielders, 3 * mostYield: cards - 2*yielders,
		}
		if diff := cmp.Diff(want, when); diff != "" {
			t.Errorf("updates after (-want +got):\n%s", diff)
		}
	})
}

// TestNothingIsDueAfterwards: a delivery that would count as due for ever would slow down every card.
func TestNothingIsDueAfterwards(t *testing.T) {
	t.Parallel()
	// What fails is not acknowledged.
	s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: 100 * time.Millisecond}})
	r := transfer(small)
	card := s.show(r)
	for name, fail := range map[string]error{
		"recorded": nil, "failed": errors.New("the disk is full"), "refused": approvals.ErrConflict,
	} {
		s.service.mu.Lock()
		s.service.fail = fail
		s.service.mu.Unlock()
		_ = s.click("U0BEN", card, "reject")
		s.eventually("nothing is due: "+name, func() bool {
			s.bot.way.mu.Lock()
			defer s.bot.way.mu.Unlock()
			return s.bot.way.due == 0
		})
	}
	s.service.hold = func(string) { panic("a defect") }
	_ = s.click("U0CLEO", card, "reject")
	s.eventually("nothing is due after a panic", func() bool {
		s.bot.way.mu.Lock()
		defer s.bot.way.mu.Unlock()
		return s.bot.way.due == 0
	})
}
