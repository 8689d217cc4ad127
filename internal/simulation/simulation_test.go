package simulation_test

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/invariant"
)

var (
	long  = flag.Bool("long", false, "run the slow tests too")
	seeds = flag.Int("seeds", 0, "how many schedules TestSimulation plays; 0: some")
	first = flag.Uint64("seed", 1, "the first of them")
)

// TestSimulation plays a schedule of faults for each seed.
func TestSimulation(t *testing.T) {
	t.Parallel()
	n := *seeds
	switch {
	case n > 0:
	case *long:
		n = 300
	default:
		n = 20
	}
	began := time.Now()
	total := tally{count: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for i := range uint64(n) {
			t.Run(fmt.Sprint(*first+i), func(t *testing.T) {
				t.Parallel()
				simulate(t, *first+i, &total)
			})
		}
	})
	t.Logf("%d schedules, %.1f a second: %v", n, float64(n)/time.Since(began).Seconds(), total.count)
	if n < 20 {
		return // too few for everything to happen
	}
	must := []string{"effects", "clicks", "cards", "answers", "death", "freeze", "lost", "twice", "late", "unanswered",
		"expired", "approved", "rejected"}
	if n >= 300 {
		must = append(must, "outcome unknown", "a call refused")
	}
	for _, what := range must {
		if total.count[what] == 0 {
			t.Errorf("none of the schedules has %s: the test shows nothing about it", what)
		}
	}
}

// tally counts what happened in all schedules.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (t *tally) add(w *world, h *invariant.World, st approvals.Store) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count["effects"] += len(h.Effects)
	t.count["clicks"] += len(h.Clicks)
	t.count["cards"] += len(h.Cards)
	t.count["answers"] += len(h.Answers)
	for name, n := range w.dice.struck() {
		what := strings.TrimPrefix(strings.TrimPrefix(name, "to Slack "), "to the app ")
		t.count[what] += n
	}
	return st.View(w.t.Context(), func(tx approvals.Tx) error {
		list, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: team, Limit: 1000})
		for _, r := range list {
			t.count[string(r.Status)]++
			if r.Kind == agent.OutcomeUnknown {
				t.count["outcome unknown"]++
			}
		}
		return err
	})
}

func simulate(t *testing.T, seed uint64, total *tally) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		defer func() {
			if t.Failed() {
				t.Log(w.log.String())
				t.Logf("again: go test ./internal/simulation -run TestSimulation -seeds 1 -seed %d", seed)
			}
		}()
		w.play()
		w.settle()
		w.close()
		st := w.data.Open()
		defer st.Close()
		h := w.look()
		found, err := invariant.Check(t.Context(), st, h)
		w.must(err)
		w.must(total.add(w, h, st))
		for _, v := range found {
			t.Error(v)
		}
	})
}
