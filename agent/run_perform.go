package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent/internal/strictjson"
)

// recordTimeout bounds how long a finished effect may take to be recorded after the run was cancelled.
const recordTimeout = 10 * time.Second

// Texts that the model reads as the output of a call.
const (
	textGaveUp    = "It is not known whether this call was carried out, and it will not be tried again."
	textWithdrawn = "The call was not carried out: what it depends on has changed."
	textNotAgain  = "It is not known whether this call was carried out. It was not tried again, " +
		"because what it depends on has changed."
	textNotNow = "It is not known whether this call was carried out. It was not tried again, because a guardrail says: "
	textBefore = "This call was begun before, and nobody knows what came of that. It was tried again, and failed:\n"
	textPanic  = "The tool failed with an internal error; the call may have taken effect or not."
)

// perform runs one job between its two journal entries.
//
// What speaks against the call is looked at before the first, so that what cannot be looked at leaves no intent open.
// When an earlier execution may have begun the call, what was found counts only if the journal says that it has not
// happened: the world may have changed because of the call itself.
func (l *loop) perform(ctx context.Context, j *job) step {
	effect, err := l.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return stop(err)
	}
	// What a call depends on must not be changed by another one between check and execution.
	leave, err := l.enter(ctx, j)
	if err != nil {
		return stop(err)
	}
	defer leave()
	prior, s, ends := l.permit(ctx, j, effect)
	switch {
	case prior.Output != nil:
		return l.guardOutput(ctx, j, *prior.Output)
	case ends:
		return s
	}
	output, err := l.invoke(ctx, j, prior.Begun)
	switch {
	case errors.Is(err, ErrOutcomeUnknown): // the intent stays open, as after a crash
		return l.doubt(ctx, j, effect)
	case err != nil:
		return stop(fmt.Errorf("call %s: %w", effect.Interruption, err))
	}
	if err := l.done(ctx, effect, output); err != nil {
		return stop(err)
	}
	return l.guardOutput(ctx, j, output)
}

// permit looks at what speaks against the call and has the journal record that it begins. Where ends is true it does
// not: s is what is done about it instead. Where the journal has the output already, it is in prior: against a call
// that has ended nothing speaks.
func (l *loop) permit(ctx context.Context, j *job, effect Effect) (prior Prior, s step, ends bool) {
	var objection objection
	objects := false
	if !j.ended {
		objection, objects = l.check(ctx, j)
	}
	if objects && (!j.resumed || objection.fails()) {
		objection.recorded = !j.resumed
		if objection.act == actAnswer && effect.Retry {
			objection.output = j.notAgain(objection)
		}
		return Prior{}, objection.step, true
	}
	prior, err := l.journal.Intent(ctx, effect)
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return Prior{}, l.doubt(ctx, j, effect), true
	case errors.Is(err, ErrStale):
		question := cmp.Or(j.call.Question, Confirm)
		return Prior{}, step{act: actAsk, question: question, renew: true, attempt: effect.Attempt}, true
	case err != nil:
		return Prior{}, stop(fmt.Errorf("journal intent of %s: %w", effect.Interruption, err)), true
	case prior.Output != nil:
		return prior, step{}, true
	case j.ended: // nobody has looked whether the call may run
		err := fmt.Errorf("journal intent of %s: the output that was there is gone", effect.Interruption)
		return Prior{}, stop(err), true
	case objects:
		return Prior{}, l.withdraw(ctx, j, effect, objection), true
	}
	return prior, step{}, false
}

// objection is what speaks against a call right before it runs.
type objection struct {
	step
	inWords bool // the output is what a guardrail says instead
}

// fails reports whether something could not be looked at, rather than speaking against the call.
func (o *objection) fails() bool { return o.act == actStop && !errors.Is(o.err, ErrTripwire) }

// check looks at everything that can speak against a call right before it runs. A context that has ended meanwhile is
// an interruption, whatever was found.
func (l *loop) check(ctx context.Context, j *job) (o objection, objects bool) {
	o, objects = l.guardInput(ctx, j)
	if !objects && j.tool.Preconditions != nil {
		o.step, objects = l.recheck(ctx, j)
	}
	if err := stopped(ctx); err != nil {
		return objection{step: stop(err)}, true
	}
	return o, objects
}

// recheck looks up the preconditions of a call again.
func (l *loop) recheck(ctx context.Context, j *job) (s step, objects bool) {
	var found []string
	err := l.safely(ctx, "preconditions", j.tool.Name, func() (err error) {
		found, err = j.tool.lookUp(ctx, j.view)
		return err
	})
	switch {
	case err != nil:
		return step{act: actAnswer, output: &ToolOutput{Text: unusableArguments(err), Failed: true}}, true
	case j.how.verdict == free && (j.tool.NeedsApproval == nil || j.how.review): // nobody relies on them
		return step{}, false
	case slices.Equal(found, j.call.Preconditions):
		j.view.Preconditions = found
		return step{}, false
	}
	s = step{act: actAsk, question: cmp.Or(j.call.Question, Confirm), renew: true, attempt: j.call.Attempt}
	s.rebinds, s.facts = true, found
	return s, true
}

// withdraw ends a call that the journal allowed after a crash, and that something speaks against; the intent must not
// stay open. A call that may run twice may have run once: what speaks against it may be its own doing.
func (l *loop) withdraw(ctx context.Context, j *job, effect Effect, o objection) step {
	output := ToolOutput{Text: textWithdrawn, Failed: true}
	switch {
	case j.tool.Idempotent || effect.Retry:
		output = *j.notAgain(o)
	case o.inWords:
		output = *o.output
	}
	if err := l.done(ctx, effect, output); err != nil {
		return stop(err)
	}
	if o.act == actStop {
		o.recorded = true
		return o.step
	}
	return step{act: actAnswer, output: &output}
}

// notAgain is what the model reads of a call that may have been carried out before, and that something speaks against:
// what a guardrail says of it is true of this time only.
func (j *job) notAgain(o objection) *ToolOutput {
	output := ToolOutput{Text: textNotAgain, Failed: true}
	if o.inWords {
		output.Text, output.Failed = textNotNow+o.output.Text, o.output.Failed
	}
	return &output
}

// enter waits until no other call of the execution touches what this one does. The caller calls leave when it is
// over.
func (l *loop) enter(ctx context.Context, j *job) (leave func(), err error) {
	var things []string
	own := j.view.clone()
	err = l.safely(ctx, "touches", j.tool.Name, func() error {
		things = j.tool.things(&own)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("what a call of tool %q touches: %w", j.tool.Name, err)
	}
	return l.touched.enter(ctx, things)
}

// done records an output. The effect has happened: its record must not be lost because the run was cancelled
// meanwhile.
func (l *loop) done(ctx context.Context, effect Effect, output ToolOutput) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := l.journal.Done(ctx, effect, output); err != nil {
		return fmt.Errorf("journal output of %s: %w", effect.Interruption, err)
	}
	return nil
}

// doubt asks what became of the call, bound to the world as it is now.
func (l *loop) doubt(ctx context.Context, j *job, effect Effect) step {
	s := step{act: actAsk, question: OutcomeUnknown, renew: true, attempt: effect.Attempt + 1}
	if j.tool.Preconditions == nil {
		return s
	}
	err := l.safely(ctx, "preconditions", j.tool.Name, func() (err error) {
		s.facts, err = j.tool.lookUp(ctx, j.view)
		return err
	})
	s.rebinds = err == nil
	return s
}

// effect describes what is about to happen. The digest is computed anew from what will really run.
func (l *loop) effect(j *job) (Effect, error) {
	c := j.call
	definition := *c.Definition
	if j.tool.Wire != WireHosted {
		definition = j.tool.Digest()
	}
	digest := definition.Call(j.view.Arguments, c.Preconditions...)
	if digest != *c.Digest {
		return Effect{}, fmt.Errorf("%w: call %s is not what it was when it was asked about", ErrStale, j.id)
	}
	e := Effect{
		ID:            j.view.EffectID,
		Interruption:  j.id,
		Call:          j.view.clone(),
		Definition:    definition,
		Digest:        digest,
		Idempotent:    j.tool.Idempotent || j.tool.agent != nil || c.unsent,
		Tool:          j.tool,
		Decided:       j.how.verdict == approved && j.how.exact,
		Always:        j.how.verdict == approved && !j.how.exact,
		Program:       j.how.program,
		Review:        j.how.review,
		Preconditions: slices.Clone(c.Preconditions),
		Retry:         c.Question == OutcomeUnknown,
		Attempt:       c.Attempt,
	}
	if c.Arguments != nil {
		e.Original = slices.Clone(c.written)
	}
	return e, nil
}

// invoke runs the tool. The error, if any, ends the run; everything else is an output for the model. When the run
// was cancelled and the tool failed, nobody can tell what happened: the intent stays open. So it does where the call
// had begun before, and its failure now leaves open what came of that.
func (l *loop) invoke(ctx context.Context, j *job, begun bool) (ToolOutput, error) {
	toolCtx, cancel := ctx, context.CancelFunc(func() {})
	if j.tool.Timeout > 0 {
		toolCtx, cancel = context.WithTimeout(ctx, j.tool.Timeout)
	}
	defer cancel()
	l.started(ctx, j)
	var output ToolOutput
	own := j.view.clone()
	err := l.safely(toolCtx, "tool", j.tool.Name, func() (err error) {
		output, err = l.traceTool(toolCtx, j, func(ctx context.Context) (ToolOutput, error) {
			return j.tool.Invoke(ctx, &own)
		})
		return err
	})
	switch {
	case err == nil:
		output.Text = validText(output.Text)
		output = limited(output)
		output.Native = nativeOf(j.tool, output)
	case errors.Is(err, ErrFatal):
		return ToolOutput{}, err
	case ctx.Err() != nil:
		return ToolOutput{}, stopped(ctx)
	case errors.Is(err, ErrOutcomeUnknown):
		return ToolOutput{}, err
	case j.tellsNothing(toolCtx, err):
		return ToolOutput{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	default:
		output = ToolOutput{Text: failureText(toolCtx, j, err), Failed: true}
	}
	if begun && output.Failed {
		if j.leavesOpen(output) {
			return ToolOutput{}, fmt.Errorf("%w: it was begun before, and failed when begun again", ErrOutcomeUnknown)
		}
		output = output.below(textBefore)
	}
	output = j.call.withNote(j.tool, output)
	l.tell(ToolEnded{Call: j.view.clone(), Output: output})
	l.ended(ctx, j, output)
	return output, nil
}

// tellsNothing reports whether the error of a call that people have let run, or are to look at afterwards, does not say
// what became of it: the tool panicked, or its time is over and it says no more than that. Of tools that bound
// themselves the time is their own, and they know what they have done.
func (j *job) tellsNothing(toolCtx context.Context, err error) bool {
	switch {
	case !j.overseen():
		return false
	case errors.Is(err, errPanic):
		return true
	}
	return toolCtx.Err() != nil && errors.Is(err, context.DeadlineExceeded) &&
		!slices.Contains(boundThemselves, j.tool.kind())
}

// leavesOpen reports whether people have to be asked what became of a call that was begun before and has failed now. A
// server refuses a second call while it is at work on the first (HTTP 409), or takes none for a while. Nobody is asked
// about a call that no person had a say in; one that people had tried again has failed, as they are told; and an answer
// that leaves open what was done says enough.
func (j *job) leavesOpen(output ToolOutput) bool {
	return j.overseen() && j.call.Question != OutcomeUnknown && !output.Status.MayHaveActed()
}

// overseen reports whether people have let the call run, or are to look at it afterwards.
func (j *job) overseen() bool { return j.how.verdict == approved || j.how.review }

// boundThemselves are the kinds of tools that say themselves what is known of a call whose time is over.
var boundThemselves = []ToolKind{KindHTTP, KindShell, KindApplyPatch, KindMCP}

// started tells that a call begins to run.
func (l *loop) started(ctx context.Context, j *job) {
	l.tell(ToolStarted{Call: j.view.clone()})
	l.hook(ctx, func(h *Hooks) {
		if h.ToolStart != nil {
			own := j.view.clone()
			h.ToolStart(ctx, &own)
		}
	})
}

// ended tells the hooks how a call ended.
func (l *loop) ended(ctx context.Context, j *job, output ToolOutput) {
	l.hook(ctx, func(h *Hooks) {
		if h.ToolEnd != nil {
			own := j.view.clone()
			h.ToolEnd(ctx, &own, output)
		}
	})
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
