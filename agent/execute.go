package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// recordTimeout bounds how long a finished effect may take to be recorded after the run was cancelled.
const recordTimeout = 10 * time.Second

var (
	errPanic  = errors.New("panic")
	errGoexit = errors.New("the tool ended its goroutine")
)

// outcome is what became of a job: an output, a question, or an error that ends the run.
type outcome struct {
	call     *call
	output   *ToolOutput
	question InterruptionKind
	attempt  int
	err      error
}

// execute runs the jobs side by side and records each outcome as it comes. After an error no further job starts;
// those that run are waited for and recorded, because they have happened.
func (x *execution) execute(ctx context.Context, r *round) error {
	work, outcomes := make(chan *job), make(chan outcome)
	var workers sync.WaitGroup
	for range x.parallel(len(r.jobs)) {
		workers.Go(func() {
			for j := range work {
				x.report(ctx, j, outcomes)
			}
		})
	}
	defer workers.Wait()
	defer close(work)

	var failed error
	for jobs, running := r.jobs, 0; running > 0 || len(jobs) > 0 && failed == nil; {
		var feed chan<- *job
		var next *job
		if len(jobs) > 0 && failed == nil {
			feed, next = work, jobs[0]
		}
		select {
		case feed <- next:
			jobs = jobs[1:]
			running++
		case o := <-outcomes:
			running--
			x.record(r, o)
			err := o.err
			if err == nil && failed == nil {
				err = x.checkpoint(ctx)
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (x *execution) parallel(jobs int) int {
	if x.MaxParallelCalls > 0 {
		return min(x.MaxParallelCalls, jobs)
	}
	return jobs
}

// record takes an outcome into the state.
func (x *execution) record(r *round, o outcome) {
	switch {
	case o.err != nil:
		return
	case o.question != "":
		o.call.ask(o.question)
		o.call.Renew = true
		o.call.Attempt = o.attempt
		r.calls = slices.DeleteFunc(r.calls, func(c *call) bool { return c == o.call })
	default:
		o.call.Output = o.output
	}
	x.state.flush(r)
}

// report performs a job and sends its outcome, also when the tool ends its goroutine.
func (x *execution) report(ctx context.Context, j *job, outcomes chan<- outcome) {
	o := outcome{call: j.call, err: fmt.Errorf("call of tool %q: %w", j.tool.Name, errGoexit)}
	defer func() { outcomes <- o }()
	o = x.perform(ctx, j)
}

// perform runs one job between its two journal entries.
func (x *execution) perform(ctx context.Context, j *job) outcome {
	effect, err := x.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return outcome{call: j.call, err: err}
	}
	switch known, err := x.journal.Intent(ctx, effect); {
	case errors.Is(err, ErrOutcomeUnknown):
		return outcome{call: j.call, question: OutcomeUnknown, attempt: effect.Attempt + 1}
	case errors.Is(err, ErrStale):
		return outcome{call: j.call, question: cmp.Or(j.call.Question, Confirm), attempt: effect.Attempt}
	case err != nil:
		return outcome{call: j.call, err: fmt.Errorf("journal intent of %s: %w", effect.Interruption, err)}
	case known != nil:
		return outcome{call: j.call, output: &ToolOutput{Text: validText(known.Text)}}
	}
	output, err := x.invoke(ctx, j)
	switch {
	case errors.Is(err, ErrOutcomeUnknown): // the intent stays open, as after a crash
		return outcome{call: j.call, question: OutcomeUnknown, attempt: effect.Attempt + 1}
	case err != nil:
		return outcome{call: j.call, err: fmt.Errorf("call %s: %w", effect.Interruption, err)}
	}
	// The effect has happened. Its record must not be lost because the run was cancelled meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := x.journal.Done(ctx, effect, output); err != nil {
		return outcome{call: j.call, err: fmt.Errorf("journal output of %s: %w", effect.Interruption, err)}
	}
	return outcome{call: j.call, output: &output}
}

// effect describes what is about to happen. The digest is computed anew from what will really run.
func (x *execution) effect(j *job) (Effect, error) {
	definition := j.tool.Digest()
	digest := CallDigest(definition, j.input.Arguments)
	id := interruptionID(j.input.Path, j.input.Turn, j.input.ID)
	if digest != *j.call.Digest {
		return Effect{}, fmt.Errorf("%w: call %s is not what it was when it was asked about", ErrStale, id)
	}
	return Effect{
		ID:           j.input.EffectID,
		Interruption: id,
		Call:         j.input.clone(),
		Definition:   definition,
		Digest:       digest,
		Idempotent:   j.tool.Idempotent,
		Decided:      j.how.verdict == approved && j.how.exact,
		Always:       j.how.verdict == approved && !j.how.exact,
		Retry:        j.call.Question == OutcomeUnknown,
		Attempt:      j.call.Attempt,
	}, nil
}

// invoke runs the tool. The error, if any, ends the run; everything else is an output for the model. When the run
// was cancelled and the tool failed, nobody can tell what happened: the intent stays open.
func (x *execution) invoke(ctx context.Context, j *job) (ToolOutput, error) {
	toolCtx, cancel := ctx, context.CancelFunc(func() {})
	if j.tool.Timeout > 0 {
		toolCtx, cancel = context.WithTimeout(ctx, j.tool.Timeout)
	}
	defer cancel()
	output, err := x.guarded(toolCtx, j)
	switch {
	case err == nil:
		return ToolOutput{Text: validText(output.Text)}, nil
	case errors.Is(err, ErrFatal):
		return ToolOutput{}, err
	case ctx.Err() != nil:
		return ToolOutput{}, stopped(ctx)
	case errors.Is(err, ErrOutcomeUnknown):
		return ToolOutput{}, err
	case errors.Is(err, errPanic):
		return ToolOutput{Text: textPanic}, nil
	case toolCtx.Err() != nil:
		return ToolOutput{Text: fmt.Sprintf("The tool did not finish within %v; it may have taken effect or not.", j.tool.Timeout)}, nil
	}
	return ToolOutput{Text: "The tool failed: " + validText(err.Error())}, nil
}

// guarded calls the tool's code and turns a panic into an error.
func (x *execution) guarded(ctx context.Context, j *job) (output ToolOutput, err error) {
	defer func() {
		if recover() != nil {
			// Neither log nor model see the panic's value: it may hold arguments.
			x.log.ErrorContext(ctx, "tool panicked", "tool", j.tool.Name, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	call := j.input.clone()
	return j.tool.Invoke(ctx, &call)
}
