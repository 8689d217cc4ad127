package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/agent"
)

var errLeased = errors.New("another worker holds the run")

// execution is one claim of a run by a worker: from the lease to the settlement.
type execution struct {
	*Worker
	run      *Run      // as it was claimed
	held     time.Time // when the claim was begun, by this process
	until    lapse     // when the lease ends unless it is renewed
	clock    storeTime
	drained  <-chan struct{} // closed when the worker has stopped and running tools have had their time
	failed   int             // how often in a row the run's job has failed
	config   AgentConfig
	runner   *agent.Runner
	options  agent.RunOptions
	sure     bool            // that the run's requester may start it was found out just now
	state    *agent.RunState // nil before the first turn of a run
	requests []*Request      // as they were at the claim
	applied  []*Request      // those whose end this execution has taken over
	asked    []*Request      // questions to create
	history  int             // items of earlier runs at the start of the conversation
	journal  *journal
	untaken  []string // effects of which the model's provider has not taken the request
	broken   bool     // a call of the run was begun before, and nothing is recorded of what came of it

	// covered are the grants that calls of the turn were approved under, by interruption. It is not changed while calls
	// run.
	covered map[string]GrantID
	turn    int
	became  ActivityKind // at the end of the execution

	progress telling
	reached  FollowEnd // at the end of the execution
	stands   string    // how the run stands at the end of the execution, for traces
}

// claim takes the lease of the run, or returns nil when there is nothing to do. A *RetryError says when somebody
// else's lease ends. sure says that the run's requester may start it.
func (w *Worker) claim(ctx context.Context, job Job, sure bool) (x *execution, err error) {
	owner := w.start + "/" + rand.Text()
	w.claims.add(owner) // before anybody can read it
	defer func() {
		if x == nil || err != nil {
			w.claims.remove(owner)
		}
	}()
	began := time.Now()
	err = update(ctx, w.store, job.Workspace, func(c *txn) error {
		x = nil
		r, err := c.run(RunID(job.ID))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		c.trace = r.Trace
		if r.Owner != owner { // else an earlier try of this transaction was committed
			if r.Status != RunQueued && r.Status != RunRunning {
				return nil
			}
			if r.Status == RunRunning && !w.mayTake(r) {
				left := w.others.left("run "+string(c.ws)+" "+string(r.ID), r.Owner, r.LeaseUntil, c.Now(), w.lease)
				if left > 0 {
					return &RetryError{After: left, Err: errLeased}
				}
			}
			r.Epoch++
			if err := c.moveRun(r, RunRunning, system, auditData{Epoch: r.Epoch}); err != nil {
				return err
			}
			r.Owner, r.LeaseUntil = owner, c.Now().Add(w.lease)
			if sure {
				c.nowSure(r)
			}
		}
		requests, err := c.asking(r)
		x = &execution{
			Worker: w, run: r, held: began, failed: job.Attempts, sure: sure,
			requests: requests, history: r.HistoryItems, covered: map[string]GrantID{},
			became: ActivityOver, reached: FollowOver, stands: "taken_over",
		}
		x.clock.hear(c.Now())
		return err
	})
	return x, err
}

// asking returns the run's requests, whole. A run that has not begun has none.
func (c *txn) asking(r *Run) ([]*Request, error) {
	if r.StateItems == 0 {
		return nil, nil
	}
	heads, err := c.RequestsOfRun(c.ws, r.ID)
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	ids := make([]RequestID, len(heads))
	for i, h := range heads {
		ids[i] = h.ID
	}
	return c.Requests(c.ws, ids)
}

// mayTake reports whether the lease of r is void although it has not ended: its claim belongs to this worker, and has
// come to an end without settling the run; or the store proves that whoever held it is gone.
func (w *Worker) mayTake(r *Run) bool {
	start, _, _ := strings.Cut(r.Owner, "/")
	if start == w.start {
		return !w.claims.has(r.Owner)
	}
	return exclusive(w.store)
}

// holds reports whether r is still what this execution has claimed.
func (x *execution) holds(r *Run) bool {
	return r.Epoch == x.run.Epoch && r.Status == RunRunning
}

// write is update for this execution's own run: ErrFenced when somebody else has claimed or ended it.
func (x *execution) write(ctx context.Context, fn func(c *txn, r *Run) error) error {
	return update(ctx, x.store, x.run.Workspace, func(c *txn) error {
		r, err := c.run(x.run.ID)
		if err != nil {
			return err
		}
		if !x.holds(r) {
			return x.fenced(r)
		}
		x.clock.hear(c.Now())
		return fn(c, r)
	})
}

func (x *execution) fenced(r *Run) error {
	return fmt.Errorf("run %s at epoch %d: %w", r.ID, x.run.Epoch, ErrFenced)
}
