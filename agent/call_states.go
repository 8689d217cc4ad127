package agent

import (
	"encoding/json"
	"slices"
)

// callState is how far a call of the current turn has come.
type callState string

const (
	callNew     callState = "new"     // read from the response; its gate has not spoken
	callWaiting callState = "waiting" // open: people have been asked, or will be when the run returns
	callCleared callState = "cleared" // may run, and may have begun: no later decision can undo that
	callDone    callState = "done"    // its output is among the items
	// callRefused is how a call that cannot run is called here. It is saved as a new one with a problem.
	callRefused callState = "refused"
)

// members is a set of the members that a call may have beside its id, tool and state.
type members uint32

const (
	hasKind members = 1 << iota
	hasProblem
	hasBinding // Definition and Digest
	hasQuestion
	hasAttempt
	hasPreconditions
	hasUnbound
	hasArguments
	hasGiven
	hasAskedAgain
	hasReview
	hasNested
	hasRan
	hasAlways
	hasRenew
	hasDecision
	hasOutput

	// What describes a call that can run, whatever its state.
	describes = hasPreconditions | hasUnbound | hasArguments | hasGiven | hasAskedAgain
)

// callStates is the table of call states: what every call in a state has, what it may have, and which states can
// follow. A call changes its state by callState.enter alone, and a saved call that is in none of these states is not
// read.
var callStates = map[callState]struct {
	has, may members
	next     []callState
}{
	callNew: {
		has:  hasKind | hasBinding,
		may:  describes | hasOutput | hasRan,
		next: []callState{callNew, callWaiting, callCleared, callRefused, callDone},
	},
	callWaiting: {
		has:  hasKind | hasBinding | hasQuestion,
		may:  describes | hasAttempt | hasRenew | hasDecision | hasOutput | hasRan,
		next: []callState{callNew, callWaiting, callCleared, callRefused, callDone},
	},
	callCleared: {
		has: hasKind | hasBinding,
		may: describes | hasQuestion | hasAttempt | hasReview | hasNested | hasAlways | hasDecision | hasOutput |
			hasRan,
		next: []callState{callNew, callWaiting, callCleared, callRefused, callDone},
	},
	callRefused: {
		has:  hasProblem,
		may:  hasKind | hasOutput,
		next: []callState{callRefused, callDone},
	},
	callDone: {
		may: hasRan,
	},
}

// phase returns the state of the call as the table knows it.
func (c *call) phase() callState {
	if c.State == callNew && c.Problem != "" {
		return callRefused
	}
	return c.State
}

// enter moves the call to a state that can follow its own, and forgets what calls in that state do not have. A move
// that the table does not know is a mistake in this package.
func (c *call) enter(next callState) {
	if !slices.Contains(callStates[c.phase()].next, next) {
		panic("agent: a call cannot become " + string(next) + " that is " + string(c.phase()))
	}
	in := callStates[next]
	c.State = next
	if next == callRefused {
		c.State = callNew
	}
	c.keep(in.has | in.may)
}

// misfit returns what is wrong with the members of a saved call, or nothing.
func (c *call) misfit() string {
	in, known := callStates[c.phase()]
	has := c.members()
	switch {
	case !known || c.State == callRefused:
		return "its state is unknown"
	case in.has&^has != 0:
		return "it lacks what its state needs"
	case has&^(in.has|in.may) != 0:
		return "it has what its state does not have"
	}
	return ""
}

// members returns what the call has.
func (c *call) members() (has members) {
	for _, m := range []struct {
		bit members
		is  bool
	}{
		{hasKind, c.Kind != ""},
		{hasProblem, c.Problem != ""},
		{hasBinding, c.Definition != nil || c.Digest != nil},
		{hasQuestion, c.Question != ""},
		{hasAttempt, c.Attempt != 0},
		{hasPreconditions, c.Preconditions != nil},
		{hasUnbound, c.Unbound},
		{hasArguments, c.Arguments != nil},
		{hasGiven, c.Given},
		{hasAskedAgain, c.AskedAgain != 0},
		{hasReview, c.Review},
		{hasNested, c.Nested != nil},
		{hasRan, c.Ran},
		{hasAlways, c.Always},
		{hasRenew, c.Renew},
		{hasDecision, c.Decision != nil},
		{hasOutput, c.Output != nil},
	} {
		if m.is {
			has |= m.bit
		}
	}
	return has
}

// keep forgets every member that is not in the set. What is not a member belongs to the call as long as it can run.
func (c *call) keep(m members) {
	own := *c
	*c = call{ID: own.ID, Tool: own.Tool, State: own.State}
	if m&hasBinding != 0 {
		c.Definition, c.Digest, c.written = own.Definition, own.Digest, own.written
		c.recorded, c.unsent, c.effectID = own.recorded, own.unsent, own.effectID
		c.begun, c.ended = own.begun, own.ended
	}
	keep(m, hasKind, &c.Kind, own.Kind)
	keep(m, hasProblem, &c.Problem, own.Problem)
	keep(m, hasQuestion, &c.Question, own.Question)
	keep(m, hasAttempt, &c.Attempt, own.Attempt)
	keep(m, hasUnbound, &c.Unbound, own.Unbound)
	keep(m, hasGiven, &c.Given, own.Given)
	keep(m, hasAskedAgain, &c.AskedAgain, own.AskedAgain)
	keep(m, hasReview, &c.Review, own.Review)
	keep(m, hasNested, &c.Nested, own.Nested)
	keep(m, hasRan, &c.Ran, own.Ran)
	keep(m, hasAlways, &c.Always, own.Always)
	keep(m, hasRenew, &c.Renew, own.Renew)
	keep(m, hasDecision, &c.Decision, own.Decision)
	keep(m, hasOutput, &c.Output, own.Output)
	keep[[]string](m, hasPreconditions, &c.Preconditions, own.Preconditions)
	keep[json.RawMessage](m, hasArguments, &c.Arguments, own.Arguments)
}

func keep[T any](m, bit members, to *T, value T) {
	if m&bit != 0 {
		*to = value
	}
}
