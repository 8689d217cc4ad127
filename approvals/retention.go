package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Retention says for how long records are kept. Zero keeps them for ever. The audit trail and grants are always kept,
// and so is what still matters, however old it is: see Worker.
type Retention struct {
	// Runs counts from the end of a run, which goes with its effects, its saved state, its input and its output.
	Runs time.Duration
	// Requests counts from when a request was settled. A request stands for itself: it may outlive its run, and a run
	// may outlive it.
	Requests time.Duration
	// Sessions counts from when the memory of a place was last added to, which the end of a run does.
	Sessions time.Duration
	// Events counts from when an event was first heard of. Later it would count as a new one.
	Events time.Duration
}

// shortest returns the shortest time for which something is kept; zero: everything is kept for ever.
func (r Retention) shortest() (least time.Duration) {
	for _, d := range []time.Duration{r.Runs, r.Requests, r.Sessions, r.Events} {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// requestsKept returns since when settled requests are kept by the retention that holds now; zero: for ever.
func (w *Worker) requestsKept(now time.Time) time.Time {
	if w.retention == nil {
		return noTime
	}
	if keep := w.retention().Requests; keep > 0 {
		return now.Add(-keep)
	}
	return noTime
}

const (
	// retentionLook is how often a worker looks whether a sweep is due, or the retention is another one.
	retentionLook = time.Second
	// retentionEvery is how often it sweeps, unless something is kept for a shorter time than that.
	retentionEvery = time.Hour
	// sweepRest is how long a sweep rests after each step, as a multiple of the time that the step took: it takes a
	// twentieth of the time in which the store can write, and with what that costs others less than a tenth of the
	// throughput.
	sweepRest = 19
	// stepRecords and stepTime bound one step, which is one transaction.
	stepRecords = 50
	stepTime    = 20 * time.Millisecond
)

// retain deletes what is older than the retention that holds at the time, until ctx ends.
func (w *Worker) retain(ctx context.Context) {
	if w.retention == nil {
		return
	}
	look := time.NewTicker(retentionLook)
	defer look.Stop()
	var last Retention
	var swept time.Time
	for {
		rules := w.retention()
		least := rules.shortest()
		every := min(retentionEvery, least)
		if least > 0 && (swept.IsZero() || rules != last || time.Since(swept) >= every) {
			w.report(ctx, "delete what is older than the retention", w.sweepOld(ctx, rules, every))
			last, swept = rules, time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// sweepOld deletes what is older than the rules say, in every workspace, once in every period for all processes that
// have the same rules.
func (w *Worker) sweepOld(ctx context.Context, rules Retention, every time.Duration) error {
	var now time.Time
	err := w.store.View(ctx, func(tx Tx) error {
		now = tx.Now()
		return nil
	})
	if err != nil {
		return err
	}
	turn := turnOf(fmt.Sprintf("retention %v", rules), now, every)
	all, err := auditWorkspaces(ctx, w.store)
	for _, ws := range all {
		if mine, failed := takeTurn(ctx, w.store, ws, turn); failed != nil || !mine {
			err = errors.Join(err, failed)
			continue
		}
		s := &oldSweep{store: w.store, log: w.log, ws: ws, rules: rules}
		err = errors.Join(err, s.run(ctx))
	}
	return err
}

// oldSweep is one search of a workspace for records that are older than its retention.
type oldSweep struct {
	store Store
	log   *slog.Logger
	ws    WorkspaceID
	rules Retention
	now   time.Time // when it began
	count deleted
}

// deleted counts what was deleted, and what would have been but for the rules that keep what still matters.
type deleted struct{ runs, requests, sessions, events, kept int }

// run deletes in an order in which nothing that is left refers to what is gone without saying so: runs first, then
// requests.
func (s *oldSweep) run(ctx context.Context) error {
	sure, err := s.trusts(ctx)
	if err != nil || !sure {
		return err
	}
	for _, part := range []struct {
		keep   time.Duration
		delete func(context.Context, time.Time) error
	}{
		{s.rules.Runs, s.deleteRuns}, {s.rules.Requests, s.deleteRequests}, {s.rules.Sessions, s.deleteSessions},
		{s.rules.Events, s.deleteEvents},
	} {
		if part.keep > 0 {
			err = errors.Join(err, part.delete(ctx, s.now.Add(-part.keep)))
		}
	}
	n := s.count
	if n.runs+n.requests+n.sessions+n.events > 0 {
		s.log.InfoContext(ctx, "deleted what is older than the retention", "workspace", s.ws, "runs", n.runs,
			"requests", n.requests, "sessions", n.sessions, "events", n.events, "kept", n.kept)
	}
	return err
}

// view reads, and rests.
func (s *oldSweep) view(ctx context.Context, fn func(Tx) error) error {
	begin := time.Now()
	if err := s.store.View(ctx, fn); err != nil {
		return err
	}
	return rest(ctx, sweepRest*time.Since(begin))
}

// fate is what a step has done with a record.
type fate int

const (
	fateKept   fate = iota
	fatePartly      // it is too much for one transaction: the next one goes on
	fateGone
)

// step is one transaction of the sweep, after which it rests. fn is called for each record, until the step has taken
// its time. n counts those that are gone. step returns the records that are left.
func step[T any](ctx context.Context, s *oldSweep, records []T, n *int, fn func(c *txn, record T) (fate, error)) (
	left []T, err error,
) {
	begin := time.Now()
	gone, kept := 0, 0
	err = update(ctx, s.store, s.ws, func(c *txn) error {
		gone, kept, left = 0, 0, records
		for since := time.Now(); len(left) > 0 && gone+kept < stepRecords && time.Since(since) < stepTime; {
			became, err := fn(c, left[0])
			if err != nil || became == fatePartly {
				return err
			}
			if left = left[1:]; became == fateGone {
				gone++
			} else {
				kept++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	*n += gone
	s.count.kept += kept
	return left, rest(ctx, sweepRest*time.Since(begin))
}

// each is step until no records are left.
func each[T any](ctx context.Context, s *oldSweep, records []T, n *int, fn func(c *txn, record T) (fate, error)) error {
	for len(records) > 0 {
		var err error
		if records, err = step(ctx, s, records, n, fn); err != nil {
			return err
		}
	}
	return nil
}

// rest leaves the store to others for so long.
func rest(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}
