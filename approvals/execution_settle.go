package approvals

import (
	"context"
	"errors"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/internal/fault"
)

// toolsetTries is how often in a row a run is put back because a toolset is not available. With the store's back-off,
// which doubles up to a minute, that is between four and five minutes; then people are told.
const toolsetTries = 12

// settle ends the execution: with the answer, with questions, with a failure, or by leaving the run to a later attempt.
func (x *execution) settle(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrFenced):
		x.abandon(ctx)
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

// abandon tells people that nobody will know what came of the calls which this execution has begun and cut off, when
// the run has ended meanwhile. Where that cannot be recorded now, the clean-up of the run says it later.
func (x *execution) abandon(ctx context.Context) {
	if x.journal == nil {
		return
	}
	own := x.journal.begun()
	err := update(ctx, x.store, x.run.Workspace, func(c *txn) error {
		r, err := c.run(x.run.ID)
		if err != nil || !r.Status.Ended() {
			return err
		}
		return c.giveUpOpen(r, wordsStoppedWithIt, func(e *EffectRecord) bool {
			nonce, ok := own[e.ID]
			return ok && nonce == e.Nonce
		})
	})
	if err != nil {
		x.log.WarnContext(ctx, "calls that were cut off are told of later", "run", x.run.ID, "error", err)
	}
}

// ended turns the error of the transaction that settles an execution into the job's.
func (x *execution) ended(err error) error {
	if errors.Is(err, ErrFenced) {
		x.log.Warn("run was taken over", "run", x.run.ID, "error", err)
		return &RetryError{After: x.lease, Err: err}
	}
	return err
}

// settling is write for the transaction that gives up the claim. When an earlier try of it was committed, there is
// nothing left to do.
func (x *execution) settling(ctx context.Context, fn func(c *txn, r *Run) error) error {
	return update(ctx, x.store, x.run.Workspace, func(c *txn) error {
		r, err := c.run(x.run.ID)
		switch {
		case err != nil:
			return err
		case x.holds(r):
			err := fn(c, r)
			x.stands = string(r.Status)
			return err
		case c.again && r.Epoch == x.run.Epoch:
			return nil
		}
		return x.fenced(r)
	})
}

// tellAfter is how often in a row a run is put back before people are told why it does not go on.
const tellAfter = 3

// putBack saves how far the run got and leaves it to the next attempt. It returns why. People are told once when that
// goes on for long.
func (x *execution) putBack(ctx context.Context, why error) error {
	err := x.settling(ctx, func(c *txn, r *Run) error {
		if err := x.saveState(c, r); err != nil {
			return err
		}
		if err := c.moveRun(r, RunQueued, system, auditData{Why: "put back"}); err != nil {
			return err
		}
		later, _ := errors.AsType[*RetryError](why)
		long := later != nil && later.Uncounted && c.Now().Sub(r.Created) > rightTold
		if (long || x.failed >= tellAfter) && r.Waits == "" {
			r.Waits = waitsText(r, why)
			c.say(r, r.Waits)
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrFenced) {
		x.log.ErrorContext(ctx, "run not put back", "run", x.run.ID, "error", err)
	}
	return why
}

// saveState writes what the store does not have of the state yet.
func (x *execution) saveState(c *txn, r *Run) error {
	if x.state == nil {
		return nil
	}
	d, err := x.state.Delta(r.StateItems)
	if err != nil {
		return err
	}
	x.account(r)
	return x.saveDelta(c, r, d)
}

// wait leaves the run to the people: requests, cards and state in one transaction. When a decision has come in
// meanwhile the run goes on at once.
func (x *execution) wait(ctx context.Context) error {
	if err := fault.Error("pause.before_commit"); err != nil {
		return err
	}
	open := x.state.Interruptions()
	err := x.settling(ctx, func(c *txn, r *Run) error {
		if err := x.saveState(c, r); err != nil {
			return err
		}
		requests, err := c.requestsOf(r.ID)
		if err != nil {
			return err
		}
		decided, err := x.reconcile(c, requests, open)
		if err != nil {
			return err
		}
		finished, err := x.ask(c, requests)
		if err != nil {
			return err
		}
		if x.broken {
			if err := c.giveUpBroken(r, open); err != nil {
				return err
			}
		}
		r.Waits = ""
		if x.became = ActivityOver; !decided && !finished {
			x.became = ActivityWaiting
			return c.moveRun(r, RunWaiting, system, auditData{})
		}
		c.wake(r)
		return c.moveRun(r, RunQueued, system, auditData{})
	})
	if err != nil {
		return x.ended(err)
	}
	fault.Point("pause.after_commit")
	if x.became == ActivityWaiting {
		x.reached = FollowWaiting
		x.tellAsked(open)
	}
	return nil
}

// reconcile brings the run's requests in line with what is open now, and reports whether one was settled that the
// run has not taken over.
func (x *execution) reconcile(c *txn, requests []*RequestHead, open []agent.Interruption) (decided bool, err error) {
	for _, r := range requests {
		i := slices.IndexFunc(open, r.asks)
		switch {
		case r.Status == RequestPending && i < 0:
			err = x.taken(c, r, RequestCancelled, wordsNoLongerArises)
		case r.Status == RequestPending && !sameDigest(r.askedDigest(), open[i].Digest):
			err = x.taken(c, r, RequestStale, wordsAskedAgainTool)
		case r.Status == RequestPending || r.Applied:
		case !x.took(r):
			decided = true
		case r.Status == RequestApproved && i >= 0 && r.Outcome == OutcomeRunning: // nobody else is at work on it
			r.Applied = true
			err = c.became(r, OutcomeUnknown)
		case r.Status == RequestApproved && i >= 0 && r.Outcome == OutcomeNone:
			err = x.taken(c, r, RequestStale,
				wordsAskedAgainApproval)
		case i < 0 && r.retriesLater(): // it is used up when the provider is told
		case r.Status == RequestApproved && i >= 0 && r.Kind == agent.ExternalResult: // what was said reached nobody
			err = x.taken(c, r, RequestStale, wordsAskedAgainTool)
		default:
			r.Applied = true
			c.touched(r)
		}
		if err != nil {
			return false, err
		}
	}
	return decided, nil
}

// retriesLater reports whether people have let a call be tried again that the model's provider carries out: it is told
// when nothing of the same answer waits any more.
func (r *RequestHead) retriesLater() bool {
	d := r.Settler()
	return r.Kind == agent.OutcomeUnknown && r.Status == RequestApproved && r.Tool.Kind == agent.KindHostedMCP &&
		d != nil && d.Verdict == Retry
}

// taken ends a request that the run does not ask about any more.
func (x *execution) taken(c *txn, r *RequestHead, to RequestStatus, note string) error {
	r.Applied = true
	return c.drop(r, to, note)
}

// took reports whether this execution has taken over how r ended.
func (x *execution) took(r *RequestHead) bool {
	return slices.ContainsFunc(x.applied, func(a *Request) bool { return a.ID == r.ID })
}

// drop ends a request without the people's decision.
func (c *txn) drop(r *RequestHead, to RequestStatus, note string) error {
	r.Note = note
	c.show(r)
	return c.moveRequest(r, to, system, auditData{Digest: r.Digest})
}

// ask creates the requests. Where one asks what became of a call, the requests that had allowed the call say that
// nobody knows; people are not asked when the call has finished meanwhile, which ask reports.
func (x *execution) ask(c *txn, earlier []*RequestHead) (finished bool, err error) {
	for _, question := range x.asked {
		if question.Kind == agent.OutcomeUnknown {
			done, err := c.recordDoubt(question, earlier)
			if err != nil {
				return false, err
			}
			if done {
				finished = true
				continue
			}
		}
		r := *question
		r.ID = RequestID(c.newID("req_"))
		x.planTrigger(c, &r, earlier)
		if err := c.pose(&r, system); err != nil {
			return false, err
		}
		if err := c.follow(&r.RequestHead); err != nil {
			return false, err
		}
		for _, o := range earlier {
			if o.Status == RequestStale && o.AskedAgain == "" && o.asksSame(&r.RequestHead) {
				o.AskedAgain = r.ID
				c.touched(o)
				c.show(o) // it may have become so long before
			}
		}
		if r.Kind != agent.OutcomeUnknown {
			continue
		}
		if err := c.doubted(r.Interruption, earlier); err != nil {
			return false, err
		}
	}
	return finished, nil
}

// follow notes with the request whose answer r follows from that r asks about what it came to.
func (c *txn) follow(r *RequestHead) error {
	if r.Supersedes == "" {
		return nil
	}
	before, err := c.request(r.Supersedes)
	if err != nil {
		return err
	}
	before.SupersededBy = r.ID
	c.touched(before)
	return nil
}

// pose puts a new question to people; actor is who caused it.
func (c *txn) pose(r *Request, actor string) error {
	r.Created = c.Now()
	c.schedule(&r.RequestHead)
	c.created(r)
	demanded, err := r.demanded()
	if err != nil {
		return err
	}
	data, err := auditData{
		Tool: r.Tool.Name, Digest: r.Digest, Kind: string(r.Kind),
		Quorum: len(r.Requirement.Seats), Requirement: demanded,
	}.evidence(&r.Requirement)
	if err != nil {
		return err
	}
	if err := c.moveRequest(&r.RequestHead, RequestPending, actor, data); err != nil {
		return err
	}
	c.show(&r.RequestHead)
	return nil
}

// recordDoubt records of the call that is asked about that nobody knows what came of it, unless the output of the call
// is recorded: then nothing is in doubt.
func (c *txn) recordDoubt(q *Request, earlier []*RequestHead) (finished bool, err error) {
	open, finished, err := c.inDoubt(q.Run, q.Interruption, earlier)
	if err != nil || finished {
		return finished, err
	}
	for _, e := range open {
		entry, err := c.effectEntry(e, AuditEffectUnknown)
		if err != nil {
			return false, err
		}
		if err := c.audit(entry); err != nil {
			return false, err
		}
	}
	return false, nil
}

// inDoubt returns the effects of a call of which nothing was heard since they were begun, and of which that has not
// been recorded before. finished: the output of the call is recorded.
func (c *txn) inDoubt(
	run RunID, interruption string, earlier []*RequestHead,
) (open []*EffectRecord, finished bool, err error) {
	effects, err := c.EffectsOfRun(c.ws, run)
	if err != nil {
		return nil, false, err
	}
	for _, e := range effects {
		switch {
		case e.Interruption != interruption || e.Kind == agent.KindAgent:
		case !e.Done.IsZero():
			return nil, true, nil
		case fateOf(e, earlier).outcome == OutcomeRunning:
			open = append(open, e)
		}
	}
	return open, false, nil
}

// doubted records with the earlier requests about a call that nobody knows what became of it.
func (c *txn) doubted(interruption string, earlier []*RequestHead) error {
	for _, r := range earlier {
		if r.Interruption != interruption || r.Status != RequestApproved || r.Outcome != OutcomeRunning {
			continue
		}
		err := c.audit(entry{
			Action: AuditRequestOutcome, Actor: system, Run: r.Run, Request: r.ID,
			Data: auditData{Outcome: OutcomeUnknown, Digest: r.Digest},
		})
		if err != nil {
			return err
		}
		if err := c.became(r, OutcomeUnknown); err != nil {
			return err
		}
	}
	return nil
}

// doubtForGood is doubted for a call of which nobody can be asked what became of it. It will not be begun again.
func (c *txn) doubtForGood(run RunID, interruption string, earlier []*RequestHead) error {
	open, _, err := c.inDoubt(run, interruption, earlier)
	if err != nil {
		return err
	}
	if err := c.doubted(interruption, earlier); err != nil {
		return err
	}
	for _, e := range open {
		if err := c.giveUp(e); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the run with its answer.
func (x *execution) finish(ctx context.Context) error {
	err := x.end(ctx, ending{
		to: RunDone, data: auditData{Turns: x.state.Turn()}, broken: x.broken,
		unheard: x.journal != nil && x.journal.unheard() ||
			slices.ContainsFunc(x.newItems(), asksForProvider),
	})
	if err == nil {
		x.reached = FollowAnswered
	}
	return err
}

// newItems are the items of the run's own conversation but for those of earlier runs at its start.
func (x *execution) newItems() []agent.Item {
	items := x.state.Items()
	return items[min(x.history, len(items)):]
}

// asksForProvider reports whether the item asks for a call that the model's provider carries out. Where nobody had to
// be asked about it, an earlier execution may know alone that nothing was heard of it.
func asksForProvider(it agent.Item) bool { return it.Type == agent.ItemMCPApprovalRequest }

// fail ends the run and tells people why.
func (x *execution) fail(ctx context.Context, err error) error {
	x.log.ErrorContext(ctx, "run failed", "run", x.run.ID, "error", err)
	if len(x.untaken) > 0 {
		if err := x.journal.notTaken(ctx, x.untaken); err != nil { // then nobody knows what came of them
			x.log.ErrorContext(ctx, "calls that were not carried out are not recorded", "run", x.run.ID, "error", err)
		}
	}
	trip, ok := errors.AsType[*agent.TripwireError](err)
	return x.end(ctx, ending{
		to: RunFailed, text: failure(err), refused: ok && trip.Tool == "",
		barred: x.state == nil && errors.Is(err, ErrUnauthorized),
	})
}

// end is the settlement of a run that goes no further.
func (x *execution) end(ctx context.Context, e ending) error {
	if x.state == nil { // what cannot be used is kept for whoever finds out why
		_, items, err := savedMemory(ctx, x.store, x.run.key())
		if err != nil {
			return err
		}
		e.items, e.keep = items, true
	} else {
		items := x.state.Items()[x.history:]
		if e.refused {
			items = withoutRefused(items)
		}
		e.items = kept(x.run.Input, items)
		if e.to == RunDone { // what an unfinished run said may be refused, or end in calls without outputs
			e.mark = markOf(x.state)
		}
	}
	e.idle = true
	return x.ended(x.settling(ctx, func(c *txn, r *Run) error {
		if x.state != nil {
			x.account(r)
			r.Output = ""
			if e.to == RunDone {
				r.Output = x.state.FinalOutput()
			}
		}
		r.Waits = ""
		return c.end(r, e)
	}))
}

// failAfterPanic ends a run whose execution panicked. A run that was not claimed yet, or that somebody else has
// claimed, keeps its job.
func (w *Worker) failAfterPanic(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	key := RunKey{Workspace: job.Workspace, Run: RunID(job.ID)}
	_, err := endRun(ctx, w.store, key, ending{to: RunFailed, text: failure(errPanic), keep: true},
		func(_ *txn, r *Run) error {
			start, _, _ := strings.Cut(r.Owner, "/")
			if r.Status != RunRunning || start != w.start {
				return errPanic
			}
			return nil
		})
	if errors.Is(err, ErrEnded) {
		return nil
	}
	return err
}
