package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/fault"
)

const (
	maxText  = 100 << 10 // bytes of a submission's text
	maxQueue = 50        // messages that wait for the run of their place
)

// Submit records a mention and queues its run. While a run of the place is under way the text waits for its end.
// Errors: ErrInvalid, ErrUnauthorized for people who may not start runs, ErrUnavailable when that cannot be found out
// (nothing is recorded then, so that the event may be delivered again), ErrLimit.
//
// A directory that is asked too much puts questions off, with a *RetryError. Under a context marked by WithoutHurry the
// run is queued then, unless one of the place is under way: whether its requester may start it is found out before it
// starts, and if they may not, it ends there. See Run.Unsure.
func (s *Service) Submit(ctx context.Context, in Submission) (Receipt, error) {
	if err := s.check(in); err != nil {
		return Receipt{}, fmt.Errorf("submit: %w", err)
	}
	receipt, err := s.traceSubmit(ctx, in)
	if err != nil {
		return Receipt{}, fmt.Errorf("submit: %w", err)
	}
	return receipt, nil
}

// submit records what was submitted, or that it was refused.
func (a *admission) submit(ctx context.Context) (Receipt, error) {
	in := &a.in
	refusal, open := a.judge(ctx)
	if refusal != nil && !errors.Is(refusal, ErrUnauthorized) {
		return Receipt{}, refusal
	}
	if err := fault.Error("event.before_store"); err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	var refused, told error // told: with which a try that may be committed was refused
	err := update(ctx, a.service.store, in.Workspace, func(c *txn) error {
		receipt, refused = Receipt{}, refusal
		if done, err := a.repeated(c); err != nil || done.Outcome != "" {
			receipt, refused = done, nil
			return err
		}
		known, err := c.once(in.Keys)
		if err != nil {
			return err
		}
		if slices.Contains(known, true) {
			if refused = nil; c.again { // else nothing of it was committed, and somebody else has answered meanwhile
				refused = told
			}
			if refused == nil {
				receipt = Receipt{Outcome: SubmitDuplicate, Redelivered: known[0]}
			}
			return nil
		}
		if refused == nil {
			receipt, refused, err = a.admit(c, open)
		}
		if told = refused; err != nil || refused == nil {
			return err
		}
		return c.audit(entry{
			Action: AuditRunRefused, Actor: string(in.Requester),
			Data: auditData{Why: reason(refused), RetryOf: a.retryOf, Via: a.via},
		})
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return Receipt{}, err
	}
	fault.Point("event.after_store")
	return receipt, nil
}

// judge says whether the requester may start runs in the place. open says why that cannot be said yet where the run is
// to be queued all the same. Behind a run that is under way nothing is queued so: there it is asked with more urgency.
func (a *admission) judge(ctx context.Context) (refusal, open error) {
	patient := Unhurried(ctx)
	refusal = a.service.mayStart(WithPatience(ctx, patient), a.in)
	if _, putOff := errors.AsType[*RetryError](refusal); !putOff || !patient {
		return refusal, nil
	}
	err := a.service.store.View(WithOneRead(ctx, true), func(tx Tx) error {
		_, err := tx.ActiveRun(a.in.Workspace, a.in.Place)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, refusal
	case err != nil:
		return fmt.Errorf("look for a run of the place: %w", err), nil
	}
	refusal = a.service.mayStart(ctx, a.in)
	if _, putOff := errors.AsType[*RetryError](refusal); putOff { // it may be a repeat of what is queued already
		return nil, refusal
	}
	return refusal, nil
}

func (s *Service) check(in Submission) error {
	switch {
	case in.Workspace == "" || in.Requester.Workspace() != in.Workspace || in.Requester.Local() == "":
		return refuse(ErrInvalid, wordsNobodyOf(in.Requester, in.Workspace))
	case len(in.Keys) == 0:
		return refuse(ErrInvalid, wordsNoKey)
	case in.Place.Surface == "" || in.Place.Channel == "" || in.Place.Thread == "":
		return refuse(ErrInvalid, wordsNoPlace)
	case strings.TrimSpace(in.Text) == "":
		return refuse(ErrInvalid, wordsNothingAsked)
	case len(in.Text) > maxText:
		return refuse(ErrInvalid, wordsMessageTooLong(maxText, len(in.Text)))
	case !utf8.ValidString(in.Text):
		return refuse(ErrInvalid, wordsNotText("message"))
	}
	if _, err := s.agents.Agent(in.Agent); err != nil {
		return fmt.Errorf("%w: %w", refuse(ErrInvalid, wordsNoSuchAgent(in.Agent)), err)
	}
	return nil
}

// mayStart says whether the requester may start runs in the place.
func (s *Service) mayStart(ctx context.Context, in Submission) error {
	at := conversation{ws: in.Workspace, place: in.Place, requester: in.Requester}
	return newGatherer(s.directory, s.policy, at, noTime).mayStart(ctx, s.requesters, in.Requester)
}

// mayStart says whether u, who is to be regular, is one of those who may start runs.
func (g *gatherer) mayStart(ctx context.Context, requesters Approvers, u UserID) error {
	if u.Workspace() == g.at.ws {
		g.askUntilKnown(ctx, func(open openQuestions) {
			if who := open.person(u); who == nil || who.Regular {
				open.membership(requesters, u)
			}
		})
	}
	if err := g.regular(u); err != nil {
		return err
	}
	ok, err := g.in(requesters, u)
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case requesters.onlyChannel():
		return refuse(ErrUnauthorized, wordsMembersAsk)
	}
	return refuse(ErrUnauthorized, wordsOthersAsk)
}

// once records all keys of an event and reports of each whether it was seen before.
func (c *txn) once(keys []string) ([]bool, error) {
	known := make([]bool, len(keys))
	for i, key := range keys {
		isNew, err := c.Once(c.ws, key, c.Now())
		if err != nil {
			return nil, err
		}
		known[i] = !isNew
	}
	return known, nil
}

// admission is one submission on its way. Its ids are made once, so that a transaction of unknown outcome can be told
// from one that did not happen.
type admission struct {
	service *Service
	in      Submission
	run     RunID
	input   InputID
	retryOf RunID  // of a retry: the run whose input this is
	via     string // of a retry: the way it came
}

func (s *Service) newAdmission(in Submission) *admission {
	arrived := time.Now()
	return &admission{service: s, in: in, run: NewRunID(arrived), input: InputID(newID("inp_", arrived, 0))}
}

// repeated returns the receipt of an earlier try that was committed, and an empty one when none was.
func (a *admission) repeated(c *txn) (Receipt, error) {
	if !c.again {
		return Receipt{}, nil
	}
	if r, err := c.run(a.run); err == nil {
		return Receipt{Run: r.ID, Outcome: SubmitStarted}, nil
	} else if !errors.Is(err, ErrNotFound) {
		return Receipt{}, err
	}
	if done, err := a.answeredBefore(c); err != nil || done.Outcome != "" {
		return done, err
	}
	queue, err := c.Inputs(c.ws, a.in.Place, maxQueue)
	ahead := slices.IndexFunc(queue, func(in *QueuedInput) bool { return in.ID == a.input })
	if err != nil || ahead < 0 {
		return Receipt{}, err
	}
	active, err := c.ActiveRun(c.ws, a.in.Place)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{Run: active.ID, Outcome: SubmitQueued, Ahead: ahead}, nil
}

// admit queues the text behind the run of the place, or starts a run. refused is ErrLimit. open says why it is not
// known yet whether the requester may start runs, and is nil otherwise: nobody else's run takes their words then, and
// open is the error.
func (a *admission) admit(c *txn, open error) (receipt Receipt, refused, err error) {
	in := &a.in
	if err := a.checkRetry(c); err != nil {
		return Receipt{}, nil, err
	}
	active, err := c.ActiveRun(in.Workspace, in.Place)
	if err == nil && open != nil {
		return Receipt{}, nil, open
	}
	if err == nil {
		if done, err := a.answerBack(c, active); err != nil || done.Outcome != "" {
			return done, nil, err
		}
		return a.queue(c, active)
	}
	if !errors.Is(err, ErrNotFound) {
		return Receipt{}, nil, err
	}
	if refused, err := a.service.limits.check(c, in); refused != nil || err != nil {
		return Receipt{}, refused, err
	}
	r := &Run{
		Workspace: in.Workspace, ID: a.run, Place: in.Place, Agent: in.Agent,
		Requester: in.Requester, Input: in.Text, Created: c.Now(), RetryOf: a.retryOf, StateMessage: in.State,
		Message: in.Message, Files: in.Files, Unsure: open != nil,
	}
	if err := a.tellRetry(c, r.ID, ""); err != nil {
		return Receipt{}, nil, err
	}
	return Receipt{Run: r.ID, Outcome: SubmitStarted}, nil, c.start(r, auditData{Agent: in.Agent, Via: a.via})
}

// start puts a new run and wakes it.
func (c *txn) start(r *Run, data auditData) error {
	data.RetryOf = r.RetryOf
	if err := c.linkRetry(r); err != nil {
		return err
	}
	c.wake(r)
	r.Trace = c.trace
	return c.moveRun(r, RunQueued, string(r.Requester), data)
}

// queue puts the text behind the run that is under way.
func (a *admission) queue(c *txn, active *Run) (receipt Receipt, refused, err error) {
	in := &a.in
	if active.Queued >= maxQueue {
		return Receipt{}, refuse(ErrLimit, wordsQueueFull(maxQueue)), nil
	}
	err = c.PutInput(&QueuedInput{
		Workspace: in.Workspace, Place: in.Place, ID: a.input, By: in.Requester, Text: in.Text, At: c.Now(),
		Message: in.Message, RetryOf: a.retryOf, State: in.State, Files: in.Files,
	})
	if err == nil {
		err = a.tellRetry(c, active.ID, wordsWaitsForOtherRun)
	}
	if err != nil {
		return Receipt{}, nil, err
	}
	receipt = Receipt{Run: active.ID, Outcome: SubmitQueued, Ahead: active.Queued}
	active.Queued++
	c.changed(active)
	return receipt, nil, c.audit(entry{
		Action: AuditInputQueued, Actor: string(in.Requester), Run: active.ID,
		Data: auditData{RetryOf: a.retryOf, Via: a.via},
	})
}

// check returns ErrLimit as refused when the person or the channel has too much under way.
func (l Limits) check(c *txn, in *Submission) (refused, err error) {
	for _, bound := range []struct {
		max       int
		requester UserID
		channel   string
		whose     string
	}{
		{l.RunsPerPerson, in.Requester, "", wordsRunsOfPerson},
		{l.RunsPerChannel, "", in.Place.Channel, wordsRunsInOnePlace},
	} {
		if bound.max == 0 {
			continue
		}
		n, err := c.ActiveRuns(in.Workspace, bound.requester, bound.channel)
		if err != nil {
			return nil, err
		}
		if n >= bound.max {
			return refuse(ErrLimit, wordsRunsAtATime(bound.max, bound.whose)), nil
		}
	}
	return nil, nil
}
