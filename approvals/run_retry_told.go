package approvals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// triesTold is how many earlier tries a run is told of in full.
const triesTold = 20

// tries is what is known of the runs that had the input of a run before it: that of which it is the retry, the one of
// which that was the retry, and so on.
type tries struct {
	number int
	calls  []string // with what came of them, of the newest try first
	more   bool     // there is or was at least one more, of which nothing is read here
	// Requests that were settled before kept may be gone; lost says that some of these tries may have had such.
	kept time.Time
	lost bool
}

// read takes in the tries before next.
func (t *tries) read(tx Tx, next *Run) error {
	for id := next.RetryOf; id != ""; {
		old, err := tx.Run(next.Workspace, id)
		if t.number == triesTold || errors.Is(err, ErrNotFound) { // retention deletes runs that have ended
			t.more = true
			return nil
		}
		if err != nil {
			return err
		}
		requests, err := tx.RequestsOfRun(old.Workspace, id)
		if err != nil {
			return err
		}
		effects, err := tx.EffectsOfRun(old.Workspace, id)
		if err != nil {
			return err
		}
		t.calls = append(t.calls, callsKnown(requests, effects)...)
		t.lost = t.lost || old.Created.Before(t.kept) // what was carried out elsewhere its requests alone would tell
		t.number++
		id = old.RetryOf
	}
	return nil
}

// callsKnown says of each call of a run that was begun, here or elsewhere, what came of it, as far as that is known.
func callsKnown(requests []*RequestHead, effects []*EffectRecord) (calls []string) {
	for _, e := range effects {
		if e.Kind == agent.KindAgent {
			continue
		}
		fate := string(fateOf(e, requests).outcome)
		if !e.Done.IsZero() && (e.Status.MayHaveActed() || e.failedAgain()) {
			fate += e.inNumbers()
		}
		calls = append(calls, fmt.Sprintf("%s (%s)", e.Tool, fate))
	}
	for i, q := range requests {
		// Nothing here executes these calls, so there is no effect of them. Of several questions about one the last
		// counts.
		elsewhere := q.Kind == agent.ExternalResult && !q.IsQuestion()
		again := slices.ContainsFunc(requests[i+1:], func(o *RequestHead) bool {
			return o.Interruption == q.Interruption && o.Kind == q.Kind
		})
		if elsewhere && !again && q.Outcome != OutcomeNone && q.Outcome != OutcomeNotRun {
			calls = append(calls, fmt.Sprintf("%s (%s)", q.Tool.Name, q.Outcome))
		}
	}
	return calls
}

// text says to the model of a run that was started again what is known of the calls of the tries before it.
func (t *tries) text() string {
	number, runs := "once", "the run for it ended"
	if t.number > 1 {
		number = fmt.Sprintf("%d times", t.number)
	}
	if t.more && t.number > 0 {
		number = "more than " + number
	}
	if number != "once" {
		runs = "the runs for it ended"
	}
	text := "What follows was asked before, " + number + ": " + runs + " without an answer, and somebody has started " +
		"it again. "
	switch {
	case len(t.calls) > 0:
		text += "The calls made then, and what is known of them: " + counted(t.calls) + ". What ran has happened and " +
			"is not undone: do not repeat it, and where it is not known, find out first."
	case t.more || t.lost:
		return text + "What its calls did is not kept any more: find out first what has happened."
	default:
		return text + "None of its calls was carried out."
	}
	if t.more || t.lost {
		text += " Of earlier calls no more is known: there may have been others."
	}
	return text
}
