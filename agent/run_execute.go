package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	errPanic  = errors.New("panic")
	errGoexit = errors.New("the code ended its goroutine")
)

// outcome is what became of a job.
type outcome struct {
	job *job
	step
}

// execute runs the jobs of the batch side by side and takes each outcome into the state as it comes. After an error
// no further job starts; those that run are waited for and recorded, because they have happened, also when a
// checkpoint panics or ends the goroutine. A panic of code that nothing guards (models and toolsets of agents inside,
// journals) goes on then where the caller can recover from it.
func (l *loop) execute(ctx context.Context, b *batch) error {
	jobs, outcomes := b.jobs, make(chan outcome, len(b.jobs)) // room for all, so that no job waits to tell
	running, unsaved, saves := 0, 0, true
	var failed error
	var panicked any
	receive := func() {
		var o outcome
		l.unlocked(func() { o = <-outcomes })
		running--
		l.record(b, o)
		l.traceQuestion(ctx, o.job.call, o.step)
		panicked = cmp.Or(panicked, o.panicked)
		failed = joinErrors(failed, o.err)
	}
	defer func() {
		for running > 0 {
			receive()
		}
		for _, j := range jobs { // those that did not start
			j.call.recorded = !j.resumed
		}
	}()
	for running > 0 || len(jobs) > 0 && failed == nil {
		for len(jobs) > 0 && failed == nil && running < l.parallel(len(b.jobs)) {
			j := jobs[0]
			jobs = jobs[1:]
			running++
			go l.start(ctx, j, outcomes)
		}
		receive()
		unsaved++
		due := running+len(jobs) == 0 || unsaved >= checkpointEvery(len(b.jobs))
		switch {
		case failed == nil && due:
			failed, unsaved = l.checkpoint(ctx), 0
			saves = failed == nil
		case failed != nil && saves && unsaved > 1: // what came before the error
			failed, saves = joinErrors(failed, l.checkpoint(ctx)), false
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return failed
}

// checkpointEvery returns after how many outputs of so many calls there is a checkpoint. Each of them holds all calls
// of the turn, so that one after each output would cost time and space in proportion to the square of their number.
func checkpointEvery(calls int) int { return max(1, calls/8) }

func (l *loop) parallel(jobs int) int {
	if l.MaxParallelCalls > 0 {
		return min(l.MaxParallelCalls, jobs)
	}
	return jobs
}

// record takes an outcome into the state.
func (l *loop) record(b *batch, o outcome) {
	c := o.job.call
	switch o.act {
	case actStop:
		c.recorded, c.carriedOut = o.recorded, o.carriedOut
		return
	case actAsk, actWait:
		b.drop(c)
	}
	l.apply(c, o.step)
	l.flush(b)
}

// start performs a job and sends its outcome, also when the tool ends its goroutine.
func (l *loop) start(ctx context.Context, j *job, outcomes chan<- outcome) {
	o := outcome{j, stop(fmt.Errorf("call of tool %q: %w", j.tool.Name, errGoexit))}
	defer func() {
		if o.panicked = recover(); o.panicked != nil {
			l.log.ErrorContext(ctx, "call panicked", "tool", j.tool.Name, "stack", string(debug.Stack()))
		}
		outcomes <- o
	}()
	if j.tool.agent != nil && !j.ended {
		o.step = l.delegate(ctx, j)
	} else {
		o.step = l.perform(ctx, j)
	}
}

// joinErrors returns the errors of two calls as one. What is no answer for an agent must not hide behind what is.
func joinErrors(a, b error) error {
	switch {
	case a != nil && b != nil && endsUse(a) && !endsUse(b):
		return b
	case a != nil && b != nil && endsUse(b) && !endsUse(a):
		return a
	}
	return errors.Join(a, b)
}
