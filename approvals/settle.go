package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/internal/fault"
)

// toolsetTries is how often in a row a run is put back because a toolset is not available. With the store's back-off that
// is some minutes; then people are told.
const toolsetTries = 8

// settle ends the execution: with the answer, with questions, with a failure, or by leaving the run to a later attempt.
func (x *execution) settle(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrFenced):
		return x.ended(err) // somebody else has the run, or ended it
	case errors.Is(err, errDraining):
		return x.putBack(ctx, &RetryError{Err: err})
	case errors.Is(err, agent.ErrToolset) && x.failed >= toolsetTries:
		return x.fail(ctx, err)
	case err != nil && transient(err):
		return x.putBack(ctx, err)
	case err != nil:
		return x.fail(ctx, err)
	case x.state.Finished():
		return x.finish(ctx)
	}
	return x.wait(ctx)
}

// ended turns the error of the transaction that settles an execution into the job's.
func (x *execution) ended(err error) error {
	if errors.Is(err, ErrFenced) {
		x.log.Warn("run was taken over", "run", x.run.ID, "error", err)
		return &RetryError{After: x.lease, Err: err}
	}
	return err
}

// putBack saves how far the run got and leaves it to the next attempt. It returns why.
func (x *execution) putBack(ctx context.Context, why error) error {
	err := x.write(ctx, func(c *change, r *Run) error {
		if err := x.saveState(c, r); err != nil {
			return err
		}
		if err := c.moveRun(r, RunQueued, system, map[string]any{"why": "put back"}); err != nil {
			return err
		}
		return c.putRun(r)
	})
	if err != nil && !errors.Is(err, ErrFenced) {
		x.log.ErrorContext(ctx, "run not put back", "run", x.run.ID, "error", err)
	}
	return why
}

// saveState writes what the store does not have of the state yet.
func (x *execution) saveState(c *change, r *Run) error {
	if x.state == nil {
		return nil
	}
	d, err := x.state.Delta(r.StateItems)
	if err != nil {
		return err
	}
	r.Turns, r.Usage = x.state.Turn(), x.state.Usage()
	return x.saveDelta(c, r, d)
}

// wait leaves the run to the people: requests, cards and state in one transaction. When a decision has come in
// meanwhile the run goes on at once.
func (x *execution) wait(ctx context.Context) error {
	fault.Point("pause.before_commit")
	open := x.state.Interruptions()
	err := x.write(ctx, func(c *change, r *Run) error {
		if err := x.saveState(c, r); err != nil {
			return err
		}
		requests, err := c.RequestsOfRun(r.Workspace, r.ID)
		if err != nil {
			return err
		}
		decided, err := x.reconcile(c, requests, open)
		if err != nil {
			return err
		}
		if err := x.ask(c); err != nil {
			return err
		}
		to := RunWaiting
		if decided {
			to = RunQueued
		}
		if err := c.moveRun(r, to, system, nil); err != nil {
			return err
		}
		if err := c.putRun(r); err != nil || !decided {
			return err
		}
		return c.wake(r)
	})
	if err != nil {
		return x.ended(err)
	}
	fault.Point("pause.after_commit")
	return nil
}

// reconcile brings the run's requests in line with what is open now, and reports whether one was settled that the
// run has not taken over.
func (x *execution) reconcile(c *change, requests []*Request, open []agent.Interruption) (decided bool, err error) {
	for _, r := range requests {
		i := slices.IndexFunc(open, r.asks)
		switch {
		case r.Status == RequestPending && i < 0:
			r.Applied = true
			err = c.drop(r, RequestCancelled, "The question no longer arises.")
		case r.Status == RequestPending && !sameDigest(r.Digest, open[i].Digest):
			r.Applied = true
			err = c.drop(r, RequestStale, "The tool was changed after this was asked; it is asked again.")
		case r.Status == RequestPending || r.Applied:
		case !x.took(r):
			decided = true
		case r.Status == RequestApproved && i >= 0:
			r.Applied = true
			err = c.drop(r, RequestStale, "The approval no longer held when it was the call's turn; it is asked again.")
		default:
			r.Applied = true
			err = c.putRequest(r)
		}
		if err != nil {
			return false, err
		}
	}
	return decided, nil
}

// took reports whether this execution has taken over how r ended.
func (x *execution) took(r *Request) bool {
	return slices.ContainsFunc(x.applied, func(a *Request) bool { return a.ID == r.ID })
}

// drop ends a request without the people's decision.
func (c *change) drop(r *Request, to RequestStatus, note string) error {
	r.Note = note
	if err := c.moveRequest(r, to, system, map[string]any{"digest": r.Digest}); err != nil {
		return err
	}
	if err := c.putRequest(r); err != nil {
		return err
	}
	return c.show(r)
}

// ask creates the requests.
func (x *execution) ask(c *change) error {
	for _, question := range x.asked {
		r := *question
		r.ID, r.Created = RequestID(c.newID("req_")), c.now
		if q := r.Requirement; q.ExpiresIn > 0 && q.OnExpiry != ExpiryKeep {
			r.Expires = c.now.Add(q.ExpiresIn)
			job := Job{Workspace: r.Workspace, Kind: JobExpire, ID: string(r.ID), Due: r.Expires}
			if err := c.Enqueue(job); err != nil {
				return err
			}
		}
		err := c.moveRequest(&r, RequestPending, system, map[string]any{
			"tool": r.Tool.Name, "digest": r.Digest, "kind": r.Kind, "policy": r.Requirement.Policy, "quorum": r.Requirement.Quorum,
		})
		if err != nil {
			return err
		}
		if err := c.putRequest(&r); err != nil {
			return err
		}
		if err := c.show(&r); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the run with its answer.
func (x *execution) finish(ctx context.Context) error {
	return x.end(ctx, func(c *change, r *Run) error {
		r.Output = x.state.FinalOutput()
		r.Turns, r.Usage = x.state.Turn(), x.state.Usage()
		if err := c.moveRun(r, RunDone, system, map[string]any{"turns": r.Turns}); err != nil {
			return err
		}
		n := &Notification{Kind: NotifyAnswer, Place: r.Place, Run: r.ID, Text: r.Output}
		if strings.TrimSpace(r.Output) == "" {
			n.Kind, n.Text = NotifyNotice, "The agent has finished without an answer."
		}
		return c.notify(n)
	})
}

// fail ends the run and tells people why.
func (x *execution) fail(ctx context.Context, err error) error {
	x.log.ErrorContext(ctx, "run failed", "run", x.run.ID, "error", err)
	return x.end(ctx, func(c *change, r *Run) error {
		if x.state != nil {
			r.Turns, r.Usage = x.state.Turn(), x.state.Usage()
		}
		return c.fail(r, failure(err))
	})
}

// fail moves the run to failed and says so.
func (c *change) fail(r *Run, text string) error {
	r.Failure = text
	if err := c.moveRun(r, RunFailed, system, nil); err != nil {
		return err
	}
	return c.say(r, text)
}

// end is the settlement of a run that goes no further.
func (x *execution) end(ctx context.Context, how func(c *change, r *Run) error) error {
	return x.ended(x.write(ctx, func(c *change, r *Run) error {
		if err := how(c, r); err != nil {
			return err
		}
		requests, err := c.RequestsOfRun(r.Workspace, r.ID)
		if err != nil {
			return err
		}
		if _, err := x.reconcile(c, requests, nil); err != nil {
			return err
		}
		if x.state == nil {
			return c.quarantine(r)
		}
		if err := c.forget(r); err != nil {
			return err
		}
		return c.conclude(r, x.state.Items()[x.history:])
	}))
}

// forget deletes the saved state of an ended run: the conversation goes to the memory of the place.
func (c *change) forget(r *Run) error {
	if r.StateItems == 0 {
		return nil
	}
	r.StateItems = 0
	return c.DeleteState(r.Workspace, r.ID)
}

// quarantine concludes a run whose state could not be used, and keeps that state for whoever finds out why.
func (c *change) quarantine(r *Run) error {
	items, err := c.storedItems(r)
	if err != nil {
		items = []agent.Item{agent.UserMessage(r.Input)}
	}
	return c.conclude(r, items)
}

// conclude writes an ended run: what was said goes to the memory of the place, and the next run starts with what
// people wrote meanwhile.
func (c *change) conclude(r *Run, items []agent.Item) error {
	chunk, err := json.Marshal(agent.CloseCalls(items, unfinishedText))
	if err != nil {
		return fmt.Errorf("session of run %s: %w", r.ID, err)
	}
	if err := c.AppendSession(r.Workspace, r.Place, string(r.ID), chunk); err != nil {
		return err
	}
	next := r.successor()
	if next != nil {
		r.Queue = nil
	}
	if err := c.putRun(r); err != nil || next == nil {
		return err
	}
	next.ID, next.Created = RunID(c.newID("run_")), c.now
	return c.start(next, map[string]any{"agent": next.Agent, "after": r.ID})
}

// successor returns the run that starts with what waits, nil when nothing does. A run has one requester, so it takes
// the messages of the person who wrote first, up to the next person's.
func (r *Run) successor() *Run {
	if len(r.Queue) == 0 {
		return nil
	}
	next := &Run{Workspace: r.Workspace, Place: r.Place, Agent: r.Agent, Requester: r.Queue[0].By}
	var texts []string
	rest := r.Queue
	for len(rest) > 0 && rest[0].By == next.Requester {
		texts = append(texts, rest[0].Text)
		rest = rest[1:]
	}
	next.Input, next.Queue = strings.Join(texts, "\n\n"), slices.Clone(rest)
	return next
}

// storedItems returns what the store holds of the run's own conversation: its input at least.
func (c *change) storedItems(r *Run) ([]agent.Item, error) {
	if r.StateItems == 0 {
		return []agent.Item{agent.UserMessage(r.Input)}, nil
	}
	head, chunks, err := c.State(r.Workspace, r.ID)
	if err != nil {
		return nil, err
	}
	items, err := agent.SavedItems(head, chunks)
	if err != nil {
		return nil, fmt.Errorf("state of run %s: %w", r.ID, err)
	}
	return items[min(r.HistoryItems, len(items)):], nil
}

// failAfterPanic ends a run whose execution panicked. A run that was not claimed yet, or that somebody else has
// claimed, keeps its job.
func (w *Worker) failAfterPanic(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	return update(ctx, w.store, job.Workspace, func(c *change) error {
		r, err := c.Run(job.Workspace, RunID(job.ID))
		if err != nil {
			return err
		}
		switch {
		case r.Status == RunQueued, r.Status == RunRunning && r.Owner != w.owner:
			return errPanic
		case r.Status != RunRunning:
			return nil
		}
		if err := c.fail(r, failure(errPanic)); err != nil {
			return err
		}
		if err := c.withdraw(r, system, ""); err != nil {
			return err
		}
		return c.quarantine(r)
	})
}
