package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/history"
)

// cleanupGrace is how long after its run has ended a call that is still open may take to say what came of it, before
// people are told that nobody knows. A worker that is alive notices within its lease that the run has ended.
const cleanupGrace = 2 * defaultLease

// ending is how a run ends.
type ending struct {
	to    RunStatus
	by    UserID // who cancelled the run; empty when nobody did
	text  string // for people: why it ended otherwise than with its answer
	deed  string // the same, where by did it, as what follows their name
	data  auditData
	idle  bool         // nothing of the run runs any more: the execution itself ends it
	items []agent.Item // the run's own conversation, as far as it is kept
	mark  *conversationMark
	// refused says that a guardrail of the agent refused the last message, which is not remembered.
	refused bool
	keep    bool // keep the saved state, for whoever finds out why it cannot be used
	barred  bool // its requester may not start it: what they wrote is not remembered
	// unheard says that the run has its answer, and that nothing was heard of a call.
	unheard bool
	// broken says that the run has its answer, and that a call of it had broken off before.
	broken bool
}

func (e *ending) actor() string {
	if e.by != "" {
		return string(e.by)
	}
	return system
}

// note is why a request was cancelled that waited when the run ended. Cards have it where no notice is read.
func (e *ending) note() string {
	if e.to == RunCancelled && e.by == "" && e.text != "" {
		return e.text
	}
	return wordsRunHasEnded
}

// end ends the run, all in one transaction: its requests are settled, people are told what came of its calls, the place
// remembers, and what people wrote meanwhile starts the next run.
func (c *txn) end(r *Run, e ending) error {
	working := r.Status == RunRunning && !e.idle
	if err := c.moveRun(r, e.to, e.actor(), e.data); err != nil {
		return err
	}
	requests, err := c.requestsOf(r.ID)
	if err != nil {
		return err
	}
	unanswered := expiredLast(requests)
	if err := c.closeRequests(requests, &e); err != nil {
		return err
	}
	var calls []callFate // a run that has its answer has the outputs of all its calls
	switch {
	case e.to != RunDone:
		if calls, err = c.fates(r, requests, working); err != nil {
			return err
		}
		r.CancelledBy = e.by
		r.Failure = c.tell(r, &e, account(requests, unanswered, calls))
	case e.unheard || slices.ContainsFunc(requests, (*RequestHead).unheard):
		c.answer(r)
		if err := c.giveUpOpen(r, wordsProviderSilent, func(*EffectRecord) bool { return true }); err != nil {
			return err
		}
	default:
		c.answer(r)
	}
	if e.broken {
		if err := c.giveUpBroken(r, nil); err != nil {
			return err
		}
	}
	known := func(call agent.Item) agent.ToolOutput {
		if q := expiredCall(call.CallID, unanswered, requests); q != nil {
			return agent.ToolOutput{Text: q.expiredText(), Failed: call.Type != agent.ItemFunctionCall}
		}
		return outputOf(call, calls)
	}
	if err := c.remember(r, &e, known); err != nil {
		return err
	}
	if err := c.forget(r, &e, calls); err != nil {
		return err
	}
	return c.succeed(r)
}

// unheard reports whether the model's provider was told to carry out the call, and has not said what came of it.
func (r *RequestHead) unheard() bool {
	return r.Tool.Kind == agent.KindHostedMCP && r.Outcome == OutcomeRunning
}

// tell says to the people of the place how the run ended and what came of its calls. It returns the same without the
// person who ended it.
func (c *txn) tell(r *Run, e *ending, calls []string) string {
	text := strings.Join(append([]string{e.text}, calls...), " ")
	n := &Notification{Kind: NotifyNotice, Place: r.Place, Run: r.ID, Text: text}
	if e.by != "" && e.deed != "" {
		n.By, n.Text = e.by, strings.Join(append([]string{e.deed}, calls...), " ")
	}
	c.notify(n)
	return text
}

// answer posts what the agent has answered.
func (c *txn) answer(r *Run) {
	n := &Notification{Kind: NotifyAnswer, Place: r.Place, Run: r.ID, Text: r.Output}
	if strings.TrimSpace(r.Output) == "" {
		n.Kind, n.Text = NotifyNotice, wordsNoAnswer
	}
	c.notify(n)
}

// closeRequests settles what still waits, and records of approved calls that had not begun that they never will. What
// waits comes first: the result that is asked for may be that of an approved call.
func (c *txn) closeRequests(requests []*RequestHead, e *ending) error {
	for _, q := range requests {
		if q.Status != RequestPending {
			continue
		}
		q.CancelledBy, q.Note = e.by, e.note()
		if err := c.moveRequest(q, RequestCancelled, e.actor(), auditData{Digest: q.Digest}); err != nil {
			return err
		}
		c.show(q)
	}
	for _, q := range requests {
		if q.Status == RequestApproved {
			why := wordsRunEndedFirst
			if q.Applied {
				why = wordsNotCarriedOutAfter
			} else if q.Outcome == OutcomeNone {
				q.CancelledBy = e.by
			}
			if err := c.neverRun(q, why); err != nil {
				return err
			}
		}
		if !q.Applied {
			q.Applied = true
			c.touched(q)
		}
	}
	return nil
}

// remember appends the run's conversation to the memory of the place; of a run that has none, what was asked. A call
// without an output gets what known says: the one that the journal has, or a sentence that says what is known of it.
func (c *txn) remember(r *Run, e *ending, known func(agent.Item) agent.ToolOutput) error {
	items := e.items
	if len(items) == 0 && r.StateItems == 0 && (r.Unsure || e.barred) {
		return nil
	}
	if len(items) == 0 {
		items = []agent.Item{agent.UserMessage(r.Input)}
	}
	closed := history.CloseCalls(items, known)
	items, err := e.mark.marked(closed, len(closed)-len(items))
	if err != nil {
		return err
	}
	chunk, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("memory of run %s: %w", r.ID, err)
	}
	return c.AppendSession(r.Workspace, r.Place, string(r.ID), chunk)
}

// statePieces is how many chunks of a saved state are deleted in one transaction.
const statePieces = 64

// forget deletes the saved state of an ended run, and has the rest of a long one deleted bit by bit. Calls that are
// still open are looked after later.
func (c *txn) forget(r *Run, e *ending, calls []callFate) error {
	if slices.ContainsFunc(calls, func(f callFate) bool { return f.outcome == OutcomeRunning }) {
		c.plan(cleanupJob(r, c.Now().Add(cleanupGrace)))
	}
	if r.StateItems == 0 || e.keep {
		return nil
	}
	pieces := statePieces
	if r.StateItems <= statePieces { // no chunk is empty: all of it, and nobody has to look how much is left
		pieces = 0
	}
	r.StateItems = 0
	more, err := c.DeleteState(r.Workspace, r.ID, pieces)
	if more {
		c.plan(cleanupJob(r, c.Now()))
	}
	return err
}

func cleanupJob(r *Run, due time.Time) Job {
	return Job{Workspace: r.Workspace, Kind: JobCleanup, ID: string(r.ID), Due: due, Group: r.Place.Channel}
}

// succeed starts the run that begins with what people wrote in the place meanwhile. A run has one requester, so it
// takes the messages of the person who wrote first, up to the next person's, as many as fit into one submission.
func (c *txn) succeed(r *Run) error {
	if r.Queued == 0 {
		return nil
	}
	queue, err := c.Inputs(r.Workspace, r.Place, maxQueue)
	r.Queued = 0
	if err != nil || len(queue) == 0 {
		return err
	}
	first := queue[0]
	next := &Run{
		Workspace: r.Workspace, ID: RunID(c.newID("run_")), Place: r.Place, Agent: r.Agent, Requester: first.By,
		Created: c.Now(), RetryOf: first.RetryOf, StateMessage: first.State,
	}
	for i, in := range queue {
		apart := i > 0 && (first.RetryOf != "" || in.RetryOf != "") // the input of a run stays as it was
		if in.By != first.By || apart || i > 0 && len(next.Input)+len(inputGap)+len(in.Text) > maxText {
			next.Queued = len(queue) - i
			break
		}
		if i > 0 {
			next.Input += inputGap
		}
		next.Input += in.Text
		next.Message, next.Files = in.Message, append(next.Files, in.Files...)
		if err := c.DeleteInput(in); err != nil {
			return err
		}
	}
	if err := c.sameAgent(next); err != nil {
		return err
	}
	return c.start(next, auditData{Agent: next.Agent, After: r.ID})
}

// inputGap stands between messages that become one input.
const inputGap = "\n\n"

// endRun ends a run that nobody may be at work on. allowed, if not nil, is asked in the transaction. It returns the
// run as it ended; with ErrEnded, as it had ended before.
func endRun(
	ctx context.Context, st Store, key RunKey, e ending, allowed func(c *txn, r *Run) error,
) (r *Run, err error) {
	for round := range rounds {
		seen, items, err := savedMemory(ctx, st, key)
		if err != nil {
			return nil, err
		}
		e.items = items
		err = update(ctx, st, key.Workspace, func(c *txn) (err error) {
			if r, err = c.run(key.Run); err != nil {
				return err
			}
			if r.Status.Ended() && c.again {
				return nil
			}
			if r.Status.Ended() {
				return ErrEnded
			}
			if r.StateItems != seen && round < rounds-1 {
				return errMoved
			}
			if allowed != nil {
				if err := allowed(c, r); err != nil {
					return err
				}
			}
			return c.end(r, e)
		})
		if !errors.Is(err, errMoved) {
			return r, err
		}
	}
	return nil, errMoved
}

var errMoved = errors.New("the run has moved on meanwhile")
