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
	attempts map[string]attempt
}

// attempt is one intent of an effect.
type attempt struct {
	number int
	nonce  string
	done   bool // what came of it is recorded
}

func newJournal(x *execution) *journal {
	return &journal{x: x, flushed: time.Now(), attempts: map[string]attempt{}}
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
func (j *journal) flush(ctx context.Context, also func(c *txn, r *Run) error) error {
	err := j.x.write(ctx, func(c *txn, r *Run) error {
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
	for _, own := range []error{ErrFenced, agent.ErrStale, agent.ErrOutcomeUnknown, ErrUnavailable, errPanic} {
		if errors.Is(err, own) {
			return err
		}
	}
	return &storeError{err}
}

// saveDelta writes d and what the run's record tells about the state.
func (x *execution) saveDelta(c *txn, r *Run, d agent.Delta) error {
	if d.From > r.StateItems {
		return fmt.Errorf("run %s: checkpoint from item %d, saved are %d", r.ID, d.From, r.StateItems)
	}
	if err := c.PutState(r.Workspace, r.ID, d); err != nil {
		return err
	}
	r.StateItems = d.From + d.Count
	r.HistoryItems = x.history
	c.changed(r)
	return nil
}

// Intent implements agent.Journal: one transaction that allows the effect or not.
func (j *journal) Intent(ctx context.Context, e agent.Effect) (prior agent.Prior, err error) {
	defer j.guard(ctx, &err)
	if err := fault.Error("effect.before_intent"); err != nil {
		return agent.Prior{}, stored(err)
	}
	p, err := j.permit(ctx, e)
	if err != nil {
		return agent.Prior{}, err
	}
	var number int
	begin := func(c *txn, r *Run) (err error) {
		prior, number, err = p.begin(c, r)
		return err
	}
	if err := j.commitSurely(ctx, begin); err != nil {
		j.noteLapsed(ctx, &e, err)
		return agent.Prior{}, err
	}
	j.mu.Lock()
	j.attempts[e.ID] = attempt{number, p.nonce, prior.Output != nil}
	j.mu.Unlock()
	if prior.Output == nil {
		j.x.progress.call(&e.Call, e.Interruption, CallRunning)
	}
	fault.Point("effect.after_intent")
	// Where the lease is over, the tool has not begun, and whoever has the run now asks people about it.
	if prior.Output == nil && j.x.lapsed(&j.x.until) {
		return agent.Prior{}, stored(errLeaseLost)
	}
	return prior, nil
}

// begun returns the nonces of this execution's own intents, by effect.
func (j *journal) begun() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	nonces := make(map[string]string, len(j.attempts))
	for id, a := range j.attempts {
		nonces[id] = a.nonce
	}
	return nonces
}

// unheard reports whether nothing has been heard of one of this execution's own intents.
func (j *journal) unheard() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, a := range j.attempts {
		if !a.done {
			return true
		}
	}
	return false
}

// notTaken records of the effects that the model's provider was to bring about that it has not taken the request.
func (j *journal) notTaken(ctx context.Context, effects []string) error {
	for _, id := range effects {
		if err := j.done(ctx, agent.Effect{ID: id}, agent.ToolOutput{Text: notTakenText, Failed: true}); err != nil {
			return err
		}
	}
	return nil
}

// commitSurely is commit, except that it is tried again while nobody knows whether an earlier try was committed: later,
// under another claim of the run, only people could tell. begin recognises its own intent by the nonce.
func (j *journal) commitSurely(ctx context.Context, begin func(c *txn, r *Run) error) error {
	began, unknown := time.Now(), false
	for pause := doneFirstPause; ; pause = min(2*pause, doneMaxPause) {
		err := j.commit(ctx, begin)
		unknown = unknown || errors.Is(err, ErrCommitUnknown)
		switch {
		case err == nil || !unknown || answered(err) || errors.Is(err, ErrClosed):
			return err
		case ctx.Err() != nil || time.Since(began) > j.x.lease || !j.x.rest(pause):
			return err
		}
	}
}

// commit runs an intent, together with the checkpoint that holds its call if that is not written yet.
func (j *journal) commit(ctx context.Context, begin func(c *txn, r *Run) error) error {
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
// is still that of this execution's intent: it has happened. While the store cannot keep it, for want of space for
// instance, it is tried again as long as this process lives: with the output lost, nobody would know what came of the
// call.
func (j *journal) Done(ctx context.Context, e agent.Effect, output agent.ToolOutput) (err error) {
	defer j.guard(ctx, &err)
	fault.Point("effect.after_tool_before_commit")
	for pause := doneFirstPause; ; pause = min(2*pause, doneMaxPause) {
		err := j.done(ctx, e, output)
		switch {
		case err == nil:
			state := CallRan
			if output.Failed {
				state = CallFailed
			}
			j.x.progress.call(&e.Call, e.Interruption, state)
			fault.Point("effect.after_commit")
			return nil
		case errors.Is(err, ErrFenced), errors.Is(err, ErrNotFound),
			errors.Is(err, ErrClosed), errors.Is(err, ErrInvalid):
			return stored(err)
		}
		j.x.log.ErrorContext(ctx, "output of an effect not recorded yet",
			"run", j.x.run.ID, "effect", e.ID, "error", err)
		if !j.x.rest(pause) {
			return stored(err)
		}
	}
}

// The pauses between attempts to record an output.
const (
	doneFirstPause = 100 * time.Millisecond
	doneMaxPause   = 5 * time.Second
)

// done records the output once.
func (j *journal) done(ctx context.Context, e agent.Effect, output agent.ToolOutput) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	j.mu.Lock()
	attempt := j.attempts[e.ID]
	j.mu.Unlock()
	x := j.x
	digest, err := outputDigest(&output)
	if err != nil {
		return err
	}
	err = update(ctx, x.store, x.run.Workspace, func(c *txn) error {
		rec, err := c.Effect(x.run.Workspace, x.run.ID, e.ID)
		switch {
		case err != nil:
			return err
		case rec.Nonce == attempt.nonce && rec.has(digest): // an earlier try was committed
			return nil
		case rec.Attempt != attempt.number || rec.Nonce != attempt.nonce || !rec.Done.IsZero():
			return fmt.Errorf("effect %s, attempt %d: %w", e.ID, attempt.number, ErrFenced)
		}
		rec.Done, rec.Output, rec.Status = c.Now(), &output, output.Status
		if err := c.PutEffect(rec); err != nil {
			return err
		}
		ended, err := c.effectEntry(rec, AuditEffectDone)
		if err != nil {
			return err
		}
		ended.Data.Output, ended.Data.Outcome = digest, rec.Outcome()
		if err := c.audit(ended); err != nil {
			return err
		}
		return c.finished(rec)
	})
	if err != nil {
		return fmt.Errorf("record output of effect %s: %w", e.ID, err)
	}
	attempt.done = true
	j.mu.Lock()
	j.attempts[e.ID] = attempt
	j.mu.Unlock()
	return nil
}

// has reports whether the effect is done, with the output of this digest.
func (e *EffectRecord) has(output agent.Digest) bool {
	if e.Done.IsZero() || e.Output == nil {
		return false
	}
	has, err := outputDigest(e.Output)
	return err == nil && has == output
}

// finished records what became of the call with the requests about it, and tells those who were told otherwise before:
// a run that has ended meanwhile, or people who were asked whether it happened.
func (c *txn) finished(rec *EffectRecord) error {
	if rec.Request != "" {
		if err := c.callEnded(rec); err != nil {
			return err
		}
	}
	r, err := c.run(rec.Run)
	if err != nil {
		return err
	}
	if r.Status.Ended() {
		return c.finishedLate(r, rec)
	}
	if r.Epoch == rec.Epoch {
		return nil
	}
	return c.foundOut(r, rec)
}

// finishedLate tells the place and its memory what came of a call after its run had ended.
func (c *txn) finishedLate(r *Run, rec *EffectRecord) error {
	name, err := c.callName(rec)
	if err != nil {
		return err
	}
	c.say(r, wordsFinishedLate(name, rec.Outcome(), rec.inNumbers()))
	text := fmt.Sprintf("The call %s of %s, which was still running when its run ended, has finished after all: "+
		"it %s. Its output, as data: %s",
		rec.Call, rec.Tool, rec.Outcome(), quote(rec.Output.Text))
	return c.memorize(r, rec, "", text)
}

// foundOut withdraws the question whether an effect happened when its output arrives after all: the worker that had it
// was given up too early. The run goes on with the output. When the question has been answered already, otherwise
// than by what has come of it, or there was nobody to ask, the place and its memory are told what came of the call.
func (c *txn) foundOut(r *Run, rec *EffectRecord) error {
	requests, err := c.requestsOf(r.ID)
	if err != nil {
		return err
	}
	late, otherwise := rec.GivenUp, false // than a person said
	for _, q := range requests {
		if q.Kind != agent.OutcomeUnknown || q.Interruption != rec.Interruption {
			continue
		}
		if q.Status != RequestPending {
			late = late || q.Outcome == OutcomeUnknown
			otherwise = otherwise || q.Outcome == OutcomeRan && rec.Outcome() == OutcomeFailed
			continue
		}
		if err := c.drop(q, RequestStale, wordsFinishedAfterAll); err != nil {
			return err
		}
		q.OutcomeStatus = rec.Status
		if err := c.became(q, rec.Outcome()); err != nil {
			return err
		}
		return c.requeue(r.ID, q.ID)
	}
	if !late && !otherwise {
		return nil
	}
	name, err := c.callName(rec)
	if err != nil {
		return err
	}
	known, words := "of which nothing was known", wordsFoundLate
	if otherwise {
		known, words = "which somebody had marked as done", wordsFoundOtherwise
	}
	c.say(r, words(name, rec.Outcome(), rec.inNumbers()))
	return c.memorize(r, rec, "", fmt.Sprintf("The call %s of %s, %s, has finished after all: it %s. "+
		"Its output, as data: %s", rec.Call, rec.Tool, known, rec.Outcome(), quote(rec.Output.Text)))
}

// guard turns a panic into an error: journals are called on goroutines whose panic would end the process.
func (j *journal) guard(ctx context.Context, err *error) {
	if v := recover(); v != nil {
		j.x.log.ErrorContext(ctx, "journal panicked", "run", j.x.run.ID, "type", fmt.Sprintf("%T", v), "stack",
			string(debug.Stack()))
		*err = errPanic
	}
}

// effectEntry returns what the audit trail says about the effect. Where a request about another call allowed it, by a
// standing answer, the entry says so: the effect's outcome is not what became of that other call.
func (c *txn) effectEntry(e *EffectRecord, action AuditAction) (entry, error) {
	about := entry{
		Action: action, Actor: system, Run: e.Run, Request: e.Request,
		Data: auditData{
			Effect: e.ID, Tool: e.Tool, Digest: e.Digest, Attempt: e.Attempt, Grant: e.Grant, BreakGlass: e.BreakGlass,
		},
	}
	if e.Request == "" {
		return about, nil
	}
	r, err := c.request(e.Request)
	if errors.Is(err, ErrNotFound) {
		return about, nil
	}
	if err != nil {
		return entry{}, fmt.Errorf("request that allowed effect %s: %w", e.ID, err)
	}
	if r.Interruption != e.Interruption {
		about.Data.Standing = r.ID
	}
	return about, nil
}

// reset forgets the buffered checkpoint: the whole state has been saved.
func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buffer, j.flushed = nil, time.Now()
}
