package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"countersign/agent/internal/strictjson"
)

// recordTimeout bounds how long a finished effect may take to be recorded after the run was cancelled.
const recordTimeout = 10 * time.Second

var (
	errPanic  = errors.New("panic")
	errGoexit = errors.New("the tool ended its goroutine")

	errManyFacts = errors.New("what the call depends on is too long to be kept")
)

// outcome is what became of a job: an output, a question, or an error that ends the run.
type outcome struct {
	call       *call
	output     *ToolOutput
	untouched  bool // the output says that nothing was carried out
	blind      bool // it says so because Tool.Preconditions failed
	question   InterruptionKind
	attempt    int
	again      bool     // a guardrail wants people asked once more
	facts      []string // what a question about a changed world is bound to
	changed    bool     // facts are set
	waits      bool     // the agent at work as a tool waits for people
	err        error
	onRecord   bool // the error leaves nothing open: the call has not begun, or the journal has its output
	carriedOut bool // the call was carried out, although it led to the error
	panicked   any  // what code that nothing guards panicked with, beside the error
}

// execute runs the jobs side by side and records each outcome as it comes. After an error no further job starts;
// those that run are waited for and recorded, because they have happened. So it is after a panic, which goes on then where
// the caller can recover from it: models and toolsets of agents inside, journals and checkpoints are not guarded.
func (l *loop) execute(ctx context.Context, r *round) error {
	work, outcomes := make(chan *job), make(chan outcome)
	var workers sync.WaitGroup
	for range l.parallel(len(r.jobs)) {
		workers.Go(func() {
			for j := range work {
				l.report(ctx, j, outcomes)
			}
		})
	}
	defer l.outside(workers.Wait)
	defer close(work)

	var failed error
	var panicked any
	jobs := r.jobs
	for running := 0; running > 0 || len(jobs) > 0 && failed == nil; {
		var feed chan<- *job
		var next *job
		if len(jobs) > 0 && failed == nil {
			feed, next = work, jobs[0]
		}
		var o outcome
		var came bool
		l.outside(func() {
			select {
			case feed <- next:
			case o = <-outcomes:
				came = true
			}
		})
		if !came {
			jobs = jobs[1:]
			running++
			continue
		}
		running--
		l.record(r, o)
		panicked = cmp.Or(panicked, o.panicked)
		err := o.err
		if err == nil && failed == nil {
			err = l.checkpoint(ctx)
		}
		failed = graver(failed, err)
	}
	for _, j := range jobs { // those that did not start
		j.call.onRecord = !j.resumed
	}
	if panicked != nil {
		panic(panicked)
	}
	return failed
}

func (l *loop) parallel(jobs int) int {
	if l.MaxParallelCalls > 0 {
		return min(l.MaxParallelCalls, jobs)
	}
	return jobs
}

// record takes an outcome into the state.
func (l *loop) record(r *round, o outcome) {
	c := o.call
	switch {
	case o.err != nil:
		c.onRecord, c.carriedOut = o.onRecord, o.carriedOut
		return
	case o.question != "":
		if o.changed {
			c.Preconditions = o.facts
			c.bind(*c.Definition)
		}
		c.ask(o.question)
		c.Renew = true
		c.Attempt = o.attempt
		if o.again {
			c.AskedAgain++
		}
		l.asked(c)
		fallthrough
	case o.waits:
		r.calls = slices.DeleteFunc(r.calls, func(other *call) bool { return other == c })
	default:
		c.Output, c.Nested = o.output, nil
		if !o.untouched {
			l.ran(c)
		}
	}
	l.frame.flush(l, r)
}

// report performs a job and sends its outcome, also when the tool ends its goroutine.
func (l *loop) report(ctx context.Context, j *job, outcomes chan<- outcome) {
	o := outcome{call: j.call, err: fmt.Errorf("call of tool %q: %w", j.tool.Name, errGoexit)}
	defer func() {
		if o.panicked = recover(); o.panicked != nil {
			l.log.ErrorContext(ctx, "call panicked", "tool", j.tool.Name, "stack", string(debug.Stack()))
		}
		outcomes <- o
	}()
	if j.tool.agent != nil {
		o = l.delegate(ctx, j)
	} else {
		o = l.perform(ctx, j)
	}
	o.call = j.call
}

// perform runs one job between its two journal entries.
//
// What can still speak against the call is looked at before the first. When an earlier execution may have begun the
// call, the journal is asked first what became of it: the world may have changed because of the call itself.
func (l *loop) perform(ctx context.Context, j *job) outcome {
	effect, err := l.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return outcome{err: err}
	}
	leave, err := l.enter(ctx, j) // what a call depends on must not be changed by another one between check and execution
	if err != nil {
		return outcome{err: err}
	}
	defer leave()
	if !j.resumed {
		if o, ends := l.check(ctx, j); ends {
			o.onRecord = true
			return o
		}
	}
	switch known, err := l.journal.Intent(ctx, effect); {
	case errors.Is(err, ErrOutcomeUnknown):
		return l.doubt(ctx, j, effect)
	case errors.Is(err, ErrStale):
		return outcome{question: cmp.Or(j.call.Question, Confirm), attempt: effect.Attempt}
	case err != nil:
		return outcome{err: fmt.Errorf("journal intent of %s: %w", effect.Interruption, err)}
	case known != nil:
		return l.guardOutput(ctx, j, *known)
	}
	if j.resumed {
		if o, ends := l.check(ctx, j); ends {
			return l.withdraw(ctx, j, effect, o)
		}
	}
	output, err := l.invoke(ctx, j)
	switch {
	case errors.Is(err, ErrOutcomeUnknown): // the intent stays open, as after a crash
		return l.doubt(ctx, j, effect)
	case err != nil:
		return outcome{err: fmt.Errorf("call %s: %w", effect.Interruption, err)}
	}
	if err := l.done(ctx, effect, output); err != nil {
		return outcome{err: err}
	}
	return l.guardOutput(ctx, j, output)
}

// enter waits until no other call of the execution touches what this one does. The caller calls leave when it is over.
func (l *loop) enter(ctx context.Context, j *job) (leave func(), err error) {
	var things []string
	own := j.input.clone()
	err = l.safely(ctx, "touches", j.tool.Name, func() error {
		things = j.tool.things(&own)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("what a call of tool %q touches: %w", j.tool.Name, err)
	}
	return l.touched.enter(ctx, things)
}

// done records an output. The effect has happened: its record must not be lost because the run was cancelled meanwhile.
func (l *loop) done(ctx context.Context, effect Effect, output ToolOutput) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := l.journal.Done(ctx, effect, output); err != nil {
		return fmt.Errorf("journal output of %s: %w", effect.Interruption, err)
	}
	return nil
}

// doubt asks what became of the call, bound to the world as it is now.
func (l *loop) doubt(ctx context.Context, j *job, effect Effect) outcome {
	o := outcome{question: OutcomeUnknown, attempt: effect.Attempt + 1}
	if j.tool.Preconditions != nil {
		if facts, err := l.bindFacts(ctx, j.tool, j.input); err == nil {
			o.facts, o.changed = facts, true
		}
	}
	return o
}

// withdraw ends a call that the journal allowed after a crash, and that something spoke against then; the intent must
// not stay open. A call that may run twice may have run once: what speaks against it may be its own doing.
func (l *loop) withdraw(ctx context.Context, j *job, effect Effect, o outcome) outcome {
	if o.err != nil {
		return o
	}
	output := ToolOutput{Text: textWithdrawn, Failed: true}
	if j.tool.Idempotent {
		output.Text = textNotAgain
	}
	if o.output != nil && !o.blind {
		output = *o.output
	}
	if err := l.done(ctx, effect, output); err != nil {
		return outcome{err: err}
	}
	return outcome{output: &output, untouched: true}
}

// check looks at everything that can speak against a call right before it runs. ends says that it must not run.
func (l *loop) check(ctx context.Context, j *job) (o outcome, ends bool) {
	if o, ends = l.guardInput(ctx, j); ends || j.tool.Preconditions == nil {
		return o, ends
	}
	facts, err := l.bindFacts(ctx, j.tool, j.input)
	switch {
	case ctx.Err() != nil:
		return outcome{err: stopped(ctx)}, true
	case err != nil:
		return outcome{output: &ToolOutput{Text: unusableArguments(err), Failed: true}, untouched: true, blind: true}, true
	case j.how.verdict == free && (j.tool.NeedsApproval == nil || j.how.review): // nobody relies on them
		return outcome{}, false
	case slices.Equal(facts, j.call.Preconditions):
		j.input.Preconditions = facts
		return outcome{}, false
	}
	return outcome{question: cmp.Or(j.call.Question, Confirm), attempt: j.call.Attempt, facts: facts, changed: true}, true
}

// bindFacts calls Tool.Preconditions. It is called without the lock.
func (l *loop) bindFacts(ctx context.Context, tool *Tool, input ToolCall) (facts []string, err error) {
	own := input.clone()
	err = l.safely(ctx, "bind", tool.Name, func() (err error) {
		facts, err = tool.Preconditions(ctx, &own)
		return err
	})
	size := 0
	for i := range facts {
		facts[i] = validText(facts[i])
		size += quotedLen(facts[i])
	}
	if err == nil && size > maxOutputBytes {
		return nil, errManyFacts
	}
	return facts, err
}

// effect describes what is about to happen. The digest is computed anew from what will really run.
func (l *loop) effect(j *job) (Effect, error) {
	definition := *j.call.Definition
	if j.tool.Wire != WireHosted {
		definition = j.tool.Digest()
	}
	digest := definition.Call(j.input.Arguments, j.call.Preconditions...)
	id := j.id
	if digest != *j.call.Digest {
		return Effect{}, fmt.Errorf("%w: call %s is not what it was when it was asked about", ErrStale, id)
	}
	e := Effect{
		ID:            j.input.EffectID,
		Interruption:  id,
		Call:          j.input.clone(),
		Definition:    definition,
		Digest:        digest,
		Idempotent:    j.tool.repeatable(),
		Tool:          j.tool,
		Decided:       j.how.verdict == approved && j.how.exact,
		Always:        j.how.verdict == approved && !j.how.exact,
		Program:       j.how.program,
		Review:        j.how.review,
		Preconditions: slices.Clone(j.call.Preconditions),
		Retry:         j.call.Question == OutcomeUnknown,
		Attempt:       j.call.Attempt,
	}
	if j.call.Arguments != nil {
		e.Original = slices.Clone(j.call.written)
	}
	return e, nil
}

// invoke runs the tool. The error, if any, ends the run; everything else is an output for the model. When the run
// was cancelled and the tool failed, nobody can tell what happened: the intent stays open.
func (l *loop) invoke(ctx context.Context, j *job) (ToolOutput, error) {
	if j.tool.Wire == WireHosted {
		return ToolOutput{Text: "approved"}, nil // the provider carries it out when it is told so
	}
	toolCtx, cancel := ctx, context.CancelFunc(func() {})
	if j.tool.Timeout > 0 {
		toolCtx, cancel = context.WithTimeout(ctx, j.tool.Timeout)
	}
	defer cancel()
	l.emit(ToolStarted{Call: j.input.clone()})
	l.hook(ctx, func(h *Hooks) {
		if h.ToolStart != nil {
			own := j.input.clone()
			h.ToolStart(ctx, &own)
		}
	})
	output, err := l.guarded(toolCtx, j)
	switch {
	case err == nil:
		output = limited(ToolOutput{Text: validText(output.Text), Failed: output.Failed, Native: output.Native})
		output.Native = nativeOf(j.tool, output)
	case errors.Is(err, ErrFatal):
		return ToolOutput{}, err
	case ctx.Err() != nil:
		return ToolOutput{}, stopped(ctx)
	case errors.Is(err, ErrOutcomeUnknown):
		return ToolOutput{}, err
	default:
		output = ToolOutput{Text: failureText(toolCtx, j, err), Failed: true}
	}
	output = j.call.noted(j.tool, output)
	l.emit(ToolEnded{Call: j.input.clone(), Output: output})
	l.hook(ctx, func(h *Hooks) {
		if h.ToolEnd != nil {
			own := j.input.clone()
			h.ToolEnd(ctx, &own, output)
		}
	})
	return output, nil
}

// failureText is what the model reads about a tool's error.
func failureText(toolCtx context.Context, j *job, err error) string {
	switch {
	case errors.Is(err, errPanic):
		return textPanic
	case toolCtx.Err() != nil:
		return fmt.Sprintf("The tool did not finish within %v; it may have taken effect or not.", j.tool.Timeout)
	}
	return "The tool failed: " + validText(err.Error())
}

// nativeOf returns the output in the provider's form, where the tool's form has one and it can be saved.
func nativeOf(t *Tool, out ToolOutput) json.RawMessage {
	if t.Wire != WireShell || out.Native == nil {
		return nil
	}
	native, err := strictjson.Canonical(out.Native)
	if err != nil || native[0] != '[' {
		return nil
	}
	return native
}

// guarded calls the tool's code and turns a panic into an error.
func (l *loop) guarded(ctx context.Context, j *job) (output ToolOutput, err error) {
	call := j.input.clone()
	err = l.safely(ctx, "tool", call.Tool, func() (err error) {
		output, err = j.tool.Invoke(ctx, &call)
		return err
	})
	return output, err
}
