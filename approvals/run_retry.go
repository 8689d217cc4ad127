package approvals

import (
	"context"
	"errors"
	"fmt"

	"countersign/agent"
)

// RunRetry asks to submit the input of a run once more.
type RunRetry struct {
	Workspace WorkspaceID
	Run       RunID
	// By asks for it, and is the requester of the new run.
	By UserID
	// Via names the way it came, as Decision.Via does.
	Via string
}

// RetryRun submits the input of a run that failed, or was cancelled, once more as a new run of the same agent in the
// same place. The rules are those of a mention: By must be one of those who may start runs there, limits hold, and
// while a run of the place is under way the input waits for its end. A direct conversation is its requester's alone. A
// run is retried once; what was started so can be retried in its turn.
//
// Nothing of the old run is resumed. The new one begins with the memory of its place, which has the calls of the old
// one with what came of them, and it is told which of them ran: a call that it makes again is a new one, about which
// people are asked again. Errors: ErrNotFound, ErrInvalid for a run that has not ended or has its answer, ErrRetried,
// and those of Submit.
func (s *Service) RetryRun(ctx context.Context, v RunRetry) (Receipt, error) {
	old, err := s.Run(ctx, v.Workspace, v.Run)
	if err != nil {
		return Receipt{}, fmt.Errorf("retry: %w", err)
	}
	receipt, err := s.retryRun(ctx, old, v)
	if err != nil {
		return Receipt{}, fmt.Errorf("retry run %s: %w", v.Run, err)
	}
	return receipt, nil
}

func (s *Service) retryRun(ctx context.Context, old *Run, v RunRetry) (Receipt, error) {
	if err := old.retriable(); err != nil {
		return Receipt{}, err
	}
	a := s.newAdmission(Submission{
		Workspace: v.Workspace, Place: old.Place, Requester: v.By, Agent: old.Agent, Text: old.Input,
		Message: old.Message, Files: old.Files,
	})
	a.in.Keys = []string{"retry " + string(a.run)}
	a.retryOf, a.via = old.ID, v.Via
	if err := s.check(a.in); err != nil {
		return Receipt{}, err
	}
	if old.Place.Direct && v.By != old.Requester {
		return Receipt{}, refuse(ErrUnauthorized, wordsDirectIsTheirs)
	}
	return a.submit(ctx)
}

// retriable returns ErrInvalid, with what to do instead, for a run that is not retried.
func (r *Run) retriable() error {
	switch {
	case !r.Status.Ended():
		return refuse(ErrInvalid, wordsNotEnded(r.Status))
	case r.Status == RunDone:
		return refuse(ErrInvalid, wordsHasItsAnswer)
	}
	return nil
}

// checkRetry looks in the transaction whether the run of a retry can still be retried.
func (a *admission) checkRetry(c *txn) error {
	if a.retryOf == "" {
		return nil
	}
	old, err := c.run(a.retryOf)
	if err != nil {
		return err
	}
	if err := old.retriable(); err != nil {
		return err
	}
	if old.RetriedAs != "" {
		return refuse(ErrRetried, wordsRetriedAs(old.RetriedAs))
	}
	queue, err := c.Inputs(c.ws, old.Place, maxQueue)
	for _, in := range queue {
		if in.RetryOf == old.ID {
			return refuse(ErrRetried, wordsRetryWaits(in.By.Local()))
		}
	}
	return err
}

// tellRetry tells the people of the place, and the trail, who had a run started again.
func (a *admission) tellRetry(c *txn, shown RunID, more string) error {
	if a.retryOf == "" {
		return nil
	}
	old, err := c.run(a.retryOf)
	if err != nil {
		return err
	}
	c.notify(&Notification{
		Kind: NotifyNotice, Place: old.Place, Run: shown, By: a.in.Requester,
		Text: wordsStartedAgain(old.Status != RunCancelled, old.ID, more),
	})
	return c.audit(entry{
		Action: AuditRunRetried, Actor: string(a.in.Requester), Run: old.ID, Data: auditData{Via: a.via},
	})
}

// linkRetry records with the old run as which one it was started again.
func (c *txn) linkRetry(r *Run) error {
	if r.RetryOf == "" {
		return nil
	}
	old, err := c.run(r.RetryOf)
	if errors.Is(err, ErrNotFound) { // it was deleted while its input waited
		return nil
	}
	if err != nil {
		return err
	}
	old.RetriedAs = r.ID
	r.Background = old.Background
	if r.Message == "" {
		r.Message, r.Files = old.Message, old.Files
	}
	c.changed(old)
	return nil
}

// sameAgent gives a run whose input waited the agent of the run that it is to repeat.
func (c *txn) sameAgent(r *Run) error {
	if r.RetryOf == "" {
		return nil
	}
	old, err := c.run(r.RetryOf)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		r.Agent = old.Agent
	}
	return err
}

// input is what the run begins with, behind the memory of its place. A run that was started again is told so: the same
// words a second time would read as a second order.
func (x *execution) input(ctx context.Context) ([]agent.Item, error) {
	around, err := x.surveyed(ctx)
	if err != nil {
		return nil, err
	}
	said := agent.UserMessage(x.run.Input)
	if x.run.RetryOf == "" {
		return append(around, said), nil
	}
	var t tries
	err = x.store.View(ctx, func(tx Tx) error {
		t = tries{kept: x.requestsKept(tx.Now())}
		return t.read(tx, x.run)
	})
	if err != nil {
		return nil, &storeError{err}
	}
	note := agent.Item{Type: agent.ItemMessage, Role: agent.RoleDeveloper, Text: t.text()}
	return append(around, note, said), nil
}
