package approvals

import (
	"context"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/internal/fault"
)

var errLeased = errors.New("another worker holds the run")

// execution is one claim of a run by a worker: from the lease to the settlement.
type execution struct {
	*Worker
	run      *Run // as it was claimed
	failed   int  // how often in a row the run's job has failed
	config   AgentConfig
	runner   *agent.Runner
	state    *agent.RunState // nil before the first turn of a run
	requests []*Request      // as they were at the claim
	applied  []*Request      // those whose end this execution has taken over
	asked    []*Request      // questions to create
	history  int             // items of earlier runs at the start of the conversation
	journal  *journal
}

// claim takes the lease of the run, or returns nil when there is nothing to do. A *RetryError says when somebody
// else's lease ends.
func (w *Worker) claim(ctx context.Context, job Job) (*execution, error) {
	var x *execution
	err := update(ctx, w.store, job.Workspace, func(c *change) error {
		x = nil
		r, err := c.Run(job.Workspace, RunID(job.ID))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Status != RunQueued && r.Status != RunRunning {
			return nil
		}
		if left := r.LeaseUntil.Sub(clock()); r.Status == RunRunning && left > 0 && !w.mayTake(r) {
			return &RetryError{After: left, Err: errLeased}
		}
		r.Epoch++
		if err := c.moveRun(r, RunRunning, system, map[string]any{"epoch": r.Epoch}); err != nil {
			return err
		}
		r.Owner, r.LeaseUntil = w.owner, clock().Add(w.lease)
		if err := c.putRun(r); err != nil {
			return err
		}
		requests, err := c.RequestsOfRun(r.Workspace, r.ID)
		x = &execution{Worker: w, run: r, failed: job.Attempts, requests: requests, history: r.HistoryItems}
		return err
	})
	return x, err
}

// mayTake reports whether the lease of r is void although it has not ended: it is this worker's own, left behind by
// an attempt that failed, or the store proves that whoever held it is gone.
func (w *Worker) mayTake(r *Run) bool {
	if r.Owner == w.owner {
		return true
	}
	e, ok := w.store.(Exclusive)
	return ok && e.Exclusive()
}

// holds reports whether r is still what this execution has claimed.
func (x *execution) holds(r *Run) bool {
	return fault.NoFencing || r.Epoch == x.run.Epoch && r.Status == RunRunning
}

// write is update for this execution's own run: ErrFenced when somebody else has claimed or ended it.
func (x *execution) write(ctx context.Context, fn func(c *change, r *Run) error) error {
	return update(ctx, x.store, x.run.Workspace, func(c *change) error {
		r, err := c.Run(x.run.Workspace, x.run.ID)
		if err != nil {
			return err
		}
		if !x.holds(r) {
			return fmt.Errorf("run %s at epoch %d: %w", r.ID, x.run.Epoch, ErrFenced)
		}
		return fn(c, r)
	})
}
