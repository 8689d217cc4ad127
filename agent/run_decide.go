package agent

import (
	"fmt"
)

// action is what is done next about a call.
type action int

const (
	actWait     action = iota // nothing: it has its output, waits for people, or for its turn
	actHandOff                // it is a handoff; its turn comes when the other calls are done
	actLookUp                 // look up its preconditions
	actGate                   // ask its gate
	actScreen                 // run the guardrails that may spare people the question
	actProgram                // ask the program that may decide instead of people
	actReject                 // tell the model that it was rejected
	actReport                 // have the output that people gave pass the guardrails
	actComplete               // take over what people filled in
	actRefuse                 // give up on it because of its arguments
	actAsk                    // ask people
	actAnswer                 // give it an output
	actRun                    // run it
	actStop                   // end the run with an error
)

// step is an action with what it takes. decide returns one, and so does the execution of a call; apply carries it
// out.
type step struct {
	act    action
	err    error  // refuse, stop
	how    ruling // run: what lets it
	output *ToolOutput
	ran    bool // answer: the call was carried out

	question InterruptionKind // ask
	renew    bool             // ask: no standing answer counts
	attempt  int              // ask: of questions about the outcome
	again    bool             // ask: a guardrail wants it
	rebinds  bool             // ask: the question is bound to these preconditions
	facts    []string

	recorded   bool // stop: the call has not begun, or the journal has its output
	carriedOut bool // stop: the call was carried out, although it led to the error
	panicked   any  // stop: what code that nothing guards panicked with
}

func stop(err error) step { return step{act: actStop, err: err} }

func ask(question InterruptionKind) step { return step{act: actAsk, question: question, renew: true} }

// knowledge is what decide rests on beside the call and its tool: what is recorded, and what the application's code
// has said about the call since the run went on. Nothing of the latter is saved.
type knowledge struct {
	ruling  ruling // what people, a program or a standing answer said
	invalid error  // why the tool does not take the arguments

	lookedUp      bool // preconditions were looked up
	preconditions []string
	gate          gateAnswer
	screened      bool // the guardrails before approval leave the question to people
	undecided     bool // so does the program
}

// gateAnswer is what a gate said about a call.
type gateAnswer int

const (
	gateUnasked gateAnswer = iota
	gateFree
	gateAsks
	gateBroken // it failed, so it asks
)

// decide says what is done next about a call of the turn. It is pure: whatever it needs to know that is not in its
// arguments is an action that finds it out, after which it is asked again.
func decide(c *call, t *Tool, k knowledge) step {
	switch {
	case c.Output != nil || c.State == callDone:
		return step{act: actWait}
	case c.Problem != "":
		return step{act: actAnswer, output: &ToolOutput{Text: c.Problem, Failed: true}}
	case c.ended && t != nil && t.handoff == nil: // nothing runs: the journal has what it led to, whatever people say
		return step{act: actRun, how: k.ruling}
	case k.ruling.verdict == rejected && c.Nested == nil:
		return step{act: actReject}
	case k.ruling.output != nil:
		return step{act: actReport}
	case t == nil:
		return stop(fmt.Errorf("%w: %q", ErrUnknownTool, c.Tool))
	case c.State != callCleared && k.invalid != nil: // a cleared one may have begun, and the journal knows
		return step{act: actRefuse, err: k.invalid}
	case c.State == callWaiting && k.ruling.verdict == undecided:
		return step{act: actWait}
	case t.handoff != nil:
		return step{act: actHandOff}
	case c.State == callNew:
		return decideNew(c, t, k)
	case c.State == callWaiting:
		return decideAnswered(c, t, k)
	}
	return proceed(c, t, k.ruling)
}

// decideNew decides about a call that nobody was asked about.
func decideNew(c *call, t *Tool, k knowledge) step {
	switch {
	case t.fills() && !c.Given:
		return ask(FieldsRequired)
	case t.Preconditions != nil && !k.lookedUp:
		return step{act: actLookUp}
	case k.ruling.verdict == approved:
		return proceed(c, t, k.ruling)
		// What a provider asks about is asked, unless a gate knows better.
	case t.NeedsApproval == nil && t.Wire != WireHosted:
		return proceed(c, t, ruling{verdict: free})
	case t.NeedsApproval != nil && k.gate == gateUnasked:
		return step{act: actGate}
	case k.gate == gateFree:
		return proceed(c, t, ruling{verdict: free})
	case t.Audit:
		return proceed(c, t, ruling{verdict: free, review: true})
	case c.begun: // nothing decides any more whether it may
		return c.askWhether()
	case t.screens() && !k.screened:
		return step{act: actScreen}
	case t.OnApproval != nil && !k.undecided:
		return step{act: actProgram}
	}
	return step{act: actAsk, question: Confirm}
}

// decideAnswered decides about a call that was asked about and may run. A gate that fails on arguments which people
// changed has them asked again.
func decideAnswered(c *call, t *Tool, k knowledge) step {
	changed := c.Decision != nil && (c.Decision.Arguments != nil || c.Unbound)
	switch {
	case changed && c.Question == FieldsRequired:
		return step{act: actComplete}
	case changed && t.Preconditions != nil && !k.lookedUp:
		return step{act: actLookUp}
	case changed && t.NeedsApproval != nil && k.gate == gateUnasked:
		return step{act: actGate}
	case changed && k.gate == gateBroken:
		return c.askWhether()
	}
	return proceed(c, t, k.ruling)
}

// askWhether asks people whether the call may run or, where it has begun already, what became of it.
func (c *call) askWhether() step {
	if c.mayHaveBegun() {
		return step{act: actAsk, question: OutcomeUnknown, renew: true, attempt: c.Attempt + 1}
	}
	return ask(Confirm)
}

// proceed lets a call run, or has somebody outside carry it out.
func proceed(c *call, t *Tool, how ruling) step {
	if t.External && c.Question != ExternalResult {
		return ask(ExternalResult)
	}
	return step{act: actRun, how: how}
}

// screens reports whether a guardrail may spare people the question about a call.
func (t *Tool) screens() bool {
	for i := range t.InputGuardrails {
		if t.InputGuardrails[i].BeforeApproval {
			return true
		}
	}
	return false
}
