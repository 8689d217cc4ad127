package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"countersign/approvals"
)

// stuckStore is a store that does not answer a reader that comes while it is stuck, until the reader gives up.
type stuckStore struct {
	approvals.Store
	stuck atomic.Bool
	came  chan struct{} // for each reader that waits
	left  atomic.Int64  // readers that have given up
}

func (s *stuckStore) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if !s.stuck.CompareAndSwap(true, false) {
		return s.Store.View(ctx, fn)
	}
	s.came <- struct{}{}
	<-ctx.Done()
	s.left.Add(1)
	return ctx.Err()
}

// TestScrapeDelaysNoSealing: while a scrape waits for a store that does not answer, whoever links entries into the
// chain hands them over and goes on. All of them are counted and logged in the end, once, in their order.
func TestScrapeDelaysNoSealing(t *testing.T) {
	t.Parallel()
	for _, waits := range []string{"counting", "reading"} {
		t.Run(waits, func(t *testing.T) {
			t.Parallel()
			b := newTrailBench(t, slog.LevelInfo)
			st := &stuckStore{Store: b.store, came: make(chan struct{})}
			b.trail.store, b.trail.shared = st, true
			linked := func(n int) (entries []*approvals.AuditEntry) {
				return []*approvals.AuditEntry{{
					Workspace: "T1", Seq: uint64(n), At: start, Action: approvals.AuditRunDone,
					Run: approvals.RunID(fmt.Sprintf("run_%d", n)),
				}}
			}
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			b.trail.ctx, b.trail.linked = ctx, linked(1)
			if waits == "counting" { // then there is nothing to be read
				b.trail.finish(t.Context())
			}
			st.stuck.Store(true)
			scraped := make(chan struct{})
			go func() { defer close(scraped); b.page() }()
			<-st.came
			for n := 2; n <= 4; n++ {
				b.trail.hand(t.Context(), linked(n))
			}
			if n := st.left.Load(); n != 0 {
				t.Error("the sealer has waited for the scrape")
			}
			if n := len(b.logged()); waits == "counting" && n != 4 {
				t.Errorf("%d lines are logged while a scrape counts, want 4", n)
			}
			giveUp()
			<-scraped
			b.trail.finish(t.Context())
			var runs []string
			for _, line := range b.logged() {
				if line["msg"] == "run.done" {
					runs = append(runs, fmt.Sprint(line["run"]))
				}
			}
			if want := []string{"run_1", "run_2", "run_3", "run_4"}; !slices.Equal(runs, want) {
				t.Errorf("logged %q, want %q", runs, want)
			}
			b.numbers(`countersign_audit_entries_total{action="run.done"} 4`)
		})
	}
}
