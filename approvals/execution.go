package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// settleTimeout bounds the transaction that ends an execution, which a stopping worker still makes.
const settleTimeout = 10 * time.Second

// execute claims the run of the job and takes it as far as it gets: to its answer, to questions, or to an error.
func (w *Worker) execute(ctx context.Context, job Job) error {
	sure, err := w.awaitRight(ctx, job)
	if err != nil {
		return err
	}
	x, err := w.claim(ctx, job, sure)
	if x == nil || err != nil {
		return err
	}
	fault.Point(at(x.run.StateItems > 0, "resume.leased", "run.leased"))
	defer w.claims.remove(x.run.Owner)
	ctx, end := x.traceWork(ctx)
	defer end()
	x.tell(ActivityWorking)
	defer func() { x.tell(x.became) }()
	defer func() { x.progress.over(x.reached) }()
	run, release := x.hold(WithFacts(ctx, x.findFacts))
	defer release()
	err = x.load(run)
	if err == nil {
		x.runner.ModelOf = func(a *agent.Agent) agent.Model { return interruptible(ctx, a.Model) }
		err = x.advance(run)
	}
	if cause := context.Cause(run); err != nil && cause != nil {
		err = errors.Join(cause, err) // whoever noticed first: the run was cut off, and this is why
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return x.settle(settle, err)
}

func at(resuming bool, resume, fresh string) string {
	if resuming {
		return resume
	}
	return fresh
}

// load reads what the execution starts from: the saved state, or the agent alone.
func (x *execution) load(ctx context.Context) error {
	var err error
	x.config, err = x.agents.Agent(x.run.Agent)
	if err != nil {
		return fmt.Errorf("%w: agent %q: %w", agent.ErrConfig, x.run.Agent, err)
	}
	x.journal = newJournal(x)
	x.runner = &agent.Runner{Journal: x.journal, Logger: x.log, Tracer: x.tracer}
	x.follow()
	x.options = agent.RunOptions{
		Checkpoint: x.journal.checkpoint,
		Context:    &agent.RunContext{ID: string(x.run.ID), Value: x.run}, // gates read requester and place
	}
	if x.run.StateItems == 0 {
		return nil
	}
	var head json.RawMessage
	var chunks []json.RawMessage
	err = x.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		head, chunks, err = tx.State(x.run.Workspace, x.run.ID)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return &agent.SchemaError{Reason: "it is missing"}
	}
	if err != nil {
		return &storeError{err}
	}
	x.state, err = (&agent.SavedState{Head: head, Chunks: chunks}).Decode(x.config.Agent)
	fault.Point("resume.loaded")
	if schema, ok := errors.AsType[*agent.SchemaError](err); ok && schema.Newer {
		return fmt.Errorf("%w: %w", ErrNewer, err)
	}
	return err
}

// advance runs the agent until it answers or every open call waits for people. Calls that nobody can be asked about
// are refused on the way.
func (x *execution) advance(ctx context.Context) error {
	result, err := x.begin(ctx)
	before := newTried()
	for {
		if result != nil {
			x.state = result.State
		}
		result, err = x.resend(ctx, result, err)
		if result != nil {
			x.untaken = result.NotTaken
		}
		if err != nil || len(result.Interruptions) == 0 {
			return err
		}
		var goesOn bool
		if goesOn, err = x.pause(ctx, result.Interruptions, before); err != nil || !goesOn {
			return err
		}
		result, err = x.resume(ctx)
	}
}

// pause sees to the open calls, and reports whether the run goes on at once: with outputs that are recorded already,
// under grants, or because nobody can be asked.
func (x *execution) pause(
	ctx context.Context, open []agent.Interruption, before *tried,
) (goesOn bool, err error) {
	x.turn = x.state.Turn()
	found, err := x.takeRecorded(ctx, open, before)
	if found || err != nil {
		return found, err
	}
	found, err = x.underGrants(ctx, open, before)
	if found || err != nil {
		return found, err
	}
	found, err = x.doubtBegun(open, before)
	if found || err != nil {
		return found, err
	}
	unmet, err := x.question(ctx, open)
	if err != nil || len(unmet) == 0 {
		return false, err
	}
	return true, x.refuse(ctx, unmet)
}

// takeRecorded lets the run go on with the output of calls that are asked about although they have run: another worker
// may have recorded it meanwhile, and what a provider has carried out is known to the journal alone. Each call is tried
// once. It notes in before which of the open calls have begun.
func (x *execution) takeRecorded(
	ctx context.Context, open []agent.Interruption, before *tried,
) (found bool, err error) {
	if x.run.StateItems == 0 {
		return false, nil
	}
	effects, err := x.effects(ctx)
	if err != nil {
		return false, err
	}
	for _, in := range open {
		before.begun[in.ID] = slices.ContainsFunc(effects, func(e *EffectRecord) bool {
			return e.Interruption == in.ID && !e.carriedOutElsewhere()
		})
		done := slices.ContainsFunc(effects, func(e *EffectRecord) bool {
			return e.Interruption == in.ID && !e.Done.IsZero() && e.Kind != agent.KindAgent
		})
		if !done || in.Kind == agent.ExternalResult || before.recorded[in.ID] {
			continue
		}
		before.recorded[in.ID], found = true, true
		x.state.Ended(in.ID)
	}
	return found, nil
}

// doubtBegun has the journal say of calls that people would be asked to let run, although they have begun, that nobody
// knows what came of them: the grant that let them run does not any more. Nothing allows them, so nothing runs.
func (x *execution) doubtBegun(open []agent.Interruption, before *tried) (found bool, err error) {
	for _, in := range open {
		if in.Kind != agent.Confirm || !before.begun[in.ID] || before.doubted[in.ID] {
			continue
		}
		before.doubted[in.ID], found = true, true
		if err := x.state.Approve(in, agent.ApproveOptions{}); err != nil {
			return false, fmt.Errorf("ask the journal about %s: %w", in.ID, err)
		}
	}
	return found, nil
}

// begin starts the run, or goes on with what people decided.
func (x *execution) begin(ctx context.Context) (*agent.Result, error) {
	if x.state != nil {
		if !x.config.ProviderConversation { // no longer, perhaps
			x.state.LeaveConversation()
		}
		if err := x.recall(ctx); err != nil {
			return nil, err
		}
		if _, err := x.state.Rebind(ctx); err != nil {
			return nil, err
		}
		if err := x.coverLate(ctx); err != nil {
			return nil, err
		}
		if err := x.apply(); err != nil {
			return nil, err
		}
		return x.resume(ctx)
	}
	if !x.sure {
		if err := x.mayStart(ctx, x.run); err != nil {
			err = fmt.Errorf("%w for %s: %w", errStart, x.run.Requester, err)
			if later := x.putOff(x.run, err); later != nil {
				err = later
			}
			return nil, err
		}
		if x.run.Unsure {
			err := x.write(ctx, func(c *txn, r *Run) error {
				c.nowSure(r)
				return nil
			})
			if err != nil {
				return nil, stored(err)
			}
		}
	}
	earlier, err := x.memory(ctx)
	if err != nil {
		return nil, err
	}
	if earlier.forgotten {
		if err := x.tellForgotten(ctx); err != nil {
			return nil, stored(err)
		}
	}
	x.history = len(earlier.items)
	x.options.MaxTurns = x.config.MaxTurns
	x.converse(earlier)
	input, err := x.input(ctx)
	if err != nil {
		return nil, err
	}
	return x.start(ctx, append(earlier.items, input...))
}

// recall tells the state which of its calls have begun since it was saved, and which of them have ended.
func (x *execution) recall(ctx context.Context) error {
	if !x.state.MayHaveBegun() && !x.unasked() && !slices.ContainsFunc(x.requests, (*Request).begunSince) {
		return nil
	}
	effects, err := x.effects(ctx)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if e.carriedOutElsewhere() {
			continue
		}
		if e.Done.IsZero() {
			x.state.Begun(e.Interruption)
			x.broken = true
		} else {
			x.state.Ended(e.Interruption)
		}
	}
	return nil
}

// unasked reports whether the state has a question that was put to nobody: a grant may have answered it.
func (x *execution) unasked() bool {
	return slices.ContainsFunc(x.state.Interruptions(), func(in agent.Interruption) bool {
		return !slices.ContainsFunc(x.requests, func(r *Request) bool { return r.Interruption == in.ID })
	})
}

// begunSince reports whether the call that the request allowed may have begun since the run's state was saved, or have
// ended since it was asked what became of it.
func (r *Request) begunSince() bool {
	switch {
	case r.Kind == agent.OutcomeUnknown && !r.Applied:
		return r.Status != RequestPending
	case r.Status != RequestApproved || r.Kind == agent.ExternalResult:
		return false
	}
	return r.Outcome == OutcomeRunning || r.Outcome != OutcomeNone && !r.Applied
}

// effects reads the effects of the run.
func (x *execution) effects(ctx context.Context) (all []*EffectRecord, err error) {
	err = x.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		all, err = tx.EffectsOfRun(x.run.Workspace, x.run.ID)
		return err
	})
	if err != nil {
		return nil, &storeError{err}
	}
	return all, nil
}

// apply tells the state how requests ended that the run has not taken over yet, in the order in which they did: of two
// answers for all calls of a tool the later one counts, whatever the clock, and the rejection of two at once. Doing it
// again changes nothing.
func (x *execution) apply() error {
	open := x.state.Interruptions()
	ended := slices.SortedStableFunc(slices.Values(x.requests), func(a, b *Request) int {
		return cmp.Or(overruled(a)-overruled(b), a.Settled.Compare(b.Settled), rank(a)-rank(b))
	})
	for _, r := range ended {
		if r.Status == RequestPending || r.Applied {
			continue
		}
		x.applied = append(x.applied, r)
		x.tellAnswered(r)
		i := slices.IndexFunc(open, r.asks)
		if i < 0 {
			continue // taken over before a crash, or withdrawn
		}
		if err := r.answer(x.state, open[i]); err != nil {
			return fmt.Errorf("apply request %s: %w", r.ID, err)
		}
	}
	return nil
}

// overruled puts answers first in whose place a later one holds.
func overruled(r *Request) int {
	if r.Overruled != "" {
		return 0
	}
	return 1
}

// rank puts rejections last.
func rank(r *Request) int {
	if r.Status == RequestRejected {
		return 1
	}
	return 0
}

// answer gives the state the answer that the request came to. An approval of something else than what would run is
// none: the call is asked about again.
func (r *Request) answer(s *agent.RunState, in agent.Interruption) error {
	switch r.Status {
	case RequestApproved:
		if !sameDigest(in.Digest, r.askedDigest()) {
			return nil
		}
		if r.revised() || r.Kind == agent.FieldsRequired {
			return r.answerRevised(s, in)
		}
		opts := agent.ApproveOptions{Always: r.Kind == agent.Confirm && r.standing()}
		switch d := r.Settler(); d.Verdict {
		case MarkDone:
			opts.Output = &agent.ToolOutput{Text: foundOut(d.Reason)}
		case ProvideResult:
			opts.Output = &agent.ToolOutput{Text: d.result()}
		case Answer:
			opts.Output = &agent.ToolOutput{Text: d.answered()}
		}
		return s.Approve(in, opts)
	case RequestRejected:
		always := in.Kind == agent.Confirm && r.standing()
		return s.Reject(in, agent.RejectOptions{Always: always, Message: r.rejection()})
	case RequestExpired:
		text := r.expiredText()
		return s.Reject(in, agent.RejectOptions{Message: &text})
	case RequestStale:
		if r.Kind == agent.OutcomeUnknown { // the journal has the output, or asks again
			return s.Approve(in, agent.ApproveOptions{})
		}
	}
	return nil
}

// storeError marks an error of the store: the job is tried again.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// transient reports whether trying the job again may help.
func transient(err error) bool {
	if _, ok := errors.AsType[*storeError](err); ok {
		return true
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, errLeaseLost) || errors.Is(err, agent.ErrToolset) ||
		errors.Is(err, ErrNewer)
}
