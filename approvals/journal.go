package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// flushAfter is how old a checkpoint may become before it is written although no effect needs it.
const flushAfter = 2 * time.Second

// journal is the store-backed journal and checkpoint of one execution.
//
// A checkpoint is not a transaction of its own: it is written in the transaction of the next intent, so that a call
// which runs is always part of a saved state, or by the settlement. What a crash can cost is a model's answer of which
// nothing has run, and no older than flushAfter.
type journal struct {
	x *execution

	mu      sync.Mutex // held while a checkpoint is written: no intent may overtake it
	buffer  *agent.Delta
	flushed time.Time
	// attempts are this execution's own intents, by effect.
	attempts map[string]int
}

func newJournal(x *execution) *journal {
	return &journal{x: x, flushed: time.Now(), attempts: map[string]int{}}
}

// checkpoint is the runner's Checkpoint.
func (j *journal) checkpoint(ctx context.Context, d agent.Delta) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.add(d); err != nil {
		return err
	}
	if time.Since(j.flushed) < flushAfter {
		return nil
	}
	return j.flush(ctx, nil)
}

// add appends d to the buffer.
func (j *journal) add(d agent.Delta) error {
	if j.buffer == nil {
		j.buffer = &d
		return nil
	}
	if d.From != j.buffer.From+j.buffer.Count {
		return fmt.Errorf("checkpoint from item %d behind %d", d.From, j.buffer.From+j.buffer.Count)
	}
	j.buffer.Head = d.Head
	j.buffer.Count += d.Count
	j.buffer.Items = joinArrays(j.buffer.Items, d.Items)
	return nil
}

// joinArrays appends the elements of the JSON array b to those of a.
func joinArrays(a, b json.RawMessage) json.RawMessage {
	if len(a) <= len("[]") {
		return b
	}
	if len(b) <= len("[]") {
		return a
	}
	joined := make(json.RawMessage, 0, len(a)+len(b))
	joined = append(joined, a[:len(a)-1]...)
	joined = append(joined, ',')
	return append(joined, b[1:]...)
}

// flush writes the buffer, and what also writes, in one transaction. The caller holds mu.
func (j *journal) flush(ctx context.Context, also func(c *change, r *Run) error) error {
	err := j.x.write(ctx, func(c *change, r *Run) error {
		if j.buffer != nil {
			if err := j.x.saveDelta(c, r, *j.buffer); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(c, r)
	})
	if err != nil {
		return stored(err)
	}
	j.buffer, j.flushed = nil, time.Now()
	return nil
}

// stored marks err as the store's unless it is an answer of ours.
func stored(err error) error {
	for _, own := range []error{ErrFenced, agent.ErrStale, agent.ErrOutcomeUnknown, errPanic} {
		if errors.Is(err, own) {
			return err
		}
	}
	return &storeError{err}
}

// saveDelta writes d and what the run's record tells about the state.
func (x *execution) saveDelta(c *change, r *Run, d agent.Delta) error {
	if d.From > r.StateItems {
		return fmt.Errorf("run %s: checkpoint from item %d, saved are %d", r.ID, d.From, r.StateItems)
	}
	if err := c.PutState(r.Workspace, r.ID, d); err != nil {
		return err
	}
	r.StateItems = d.From + d.Count
	r.HistoryItems = x.history
	return c.putRun(r)
}

// Intent implements agent.Journal: one transaction that allows the effect or not.
func (j *journal) Intent(ctx context.Context, e agent.Effect) (out *agent.ToolOutput, err error) {
	defer j.guard(ctx, &err)
	fault.Point("effect.before_intent")
	p, err := j.permit(ctx, e)
	if err != nil {
		return nil, err
	}
	var attempt int
	begin := func(c *change, r *Run) (err error) {
		out, attempt, err = p.begin(c, r)
		return err
	}
	if err := j.commit(ctx, begin); err != nil {
		return nil, err
	}
	j.mu.Lock()
	j.attempts[e.ID] = attempt
	j.mu.Unlock()
	fault.Point("effect.after_intent")
	return out, nil
}

// commit runs an intent, together with the checkpoint that holds its call if that is not written yet.
func (j *journal) commit(ctx context.Context, begin func(c *change, r *Run) error) error {
	j.mu.Lock()
	if j.buffer != nil {
		defer j.mu.Unlock()
		return j.flush(ctx, begin)
	}
	j.mu.Unlock()
	if err := j.x.write(ctx, begin); err != nil {
		return stored(err)
	}
	return nil
}

// Done implements agent.Journal. The output is taken whatever has become of the run meanwhile, as long as the record
// is still that of this execution's intent: it has happened.
func (j *journal) Done(ctx context.Context, e agent.Effect, output agent.ToolOutput) (err error) {
	defer j.guard(ctx, &err)
	fault.Point("effect.after_tool_before_commit")
	if fault.NoIntent {
		return nil
	}
	j.mu.Lock()
	attempt := j.attempts[e.ID]
	j.mu.Unlock()
	x := j.x
	err = update(ctx, x.store, x.run.Workspace, func(c *change) error {
		rec, err := c.Effect(x.run.Workspace, x.run.ID, e.ID)
		if err != nil {
			return err
		}
		if rec.Attempt != attempt || !rec.Done.IsZero() {
			return fmt.Errorf("effect %s, attempt %d: %w", e.ID, attempt, ErrFenced)
		}
		rec.Done, rec.Output = c.now, &output
		if err := c.PutEffect(rec); err != nil {
			return err
		}
		if err := c.audit(rec.entry(AuditEffectDone)); err != nil {
			return err
		}
		return c.foundOut(x.run, rec, e.Interruption)
	})
	if err != nil {
		return stored(fmt.Errorf("record output of effect %s: %w", e.ID, err))
	}
	fault.Point("effect.after_commit")
	return nil
}

// foundOut withdraws the question whether an effect happened when its output arrives after all: the worker that had
// it was given up too early. The run goes on with the output.
func (c *change) foundOut(claimed *Run, rec *EffectRecord, interruption string) error {
	r, err := c.Run(claimed.Workspace, claimed.ID)
	if err != nil || r.Epoch == rec.Epoch || r.Status.Ended() {
		return err
	}
	requests, err := c.RequestsOfRun(r.Workspace, r.ID)
	if err != nil {
		return err
	}
	for _, q := range requests {
		if q.Status != RequestPending || q.Kind != agent.OutcomeUnknown || q.Interruption != interruption {
			continue
		}
		if err := c.drop(q, RequestStale, "The call has finished after all."); err != nil {
			return err
		}
		return c.requeue(r.ID, q.ID)
	}
	return nil
}

// guard turns a panic into an error: journals are called on goroutines whose panic would end the process.
func (j *journal) guard(ctx context.Context, err *error) {
	if v := recover(); v != nil {
		j.x.log.ErrorContext(ctx, "journal panicked", "run", j.x.run.ID, "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		*err = errPanic
	}
}

// entry returns what the audit trail says about the effect.
func (e *EffectRecord) entry(action AuditAction) entry {
	return entry{
		Action: action, Actor: system, Run: e.Run, Request: e.Request,
		Facts: map[string]any{"effect": e.ID, "tool": e.Tool, "digest": e.Digest, "attempt": e.Attempt},
	}
}

// reset forgets the buffered checkpoint: the whole state has been saved.
func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buffer, j.flushed = nil, time.Now()
}
