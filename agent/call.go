package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"countersign/agent/internal/strictjson"
)

var (
	errForgedOutput = errors.New("a model cannot write the output of a call")
	errForeignRole  = errors.New("a model cannot speak in another role than its own")
	errNoCallID     = errors.New("a call without an id")
	errNoToolName   = errors.New("an approval request of an MCP server that names no tool")
)

// call is one call of the current turn. Calls of earlier turns are only items.
type call struct {
	ID    string    `json:"id"`
	Tool  string    `json:"tool"`
	Kind  ToolKind  `json:"kind,omitempty"`
	State callState `json:"state"`
	// Problem, if set, is what the model reads instead of an output: the call cannot run, and nobody is asked.
	Problem string `json:"problem,omitempty"`
	// Definition and Digest are what a decision is bound to; nil where there is a problem.
	Definition *Digest `json:"definition,omitempty"`
	Digest     *Digest `json:"digest,omitempty"`
	// Question is what a waiting call waits for, and what a cleared one waited for.
	Question InterruptionKind `json:"question,omitempty"`
	// Attempt counts how often it was asked what became of the call.
	Attempt int `json:"attempt,omitempty"`
	// Preconditions are what Tool.Preconditions said; Unbound says that it has still to be asked.
	Preconditions []string `json:"facts,omitempty"`
	Unbound       bool     `json:"unbound,omitempty"`
	// Arguments replace those of the item: a person changed or completed them. Given says that nothing is left to
	// fill in.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Given     bool            `json:"given,omitempty"`
	// AskedAgain counts how often a guardrail had people asked again.
	AskedAgain int `json:"asked_again,omitempty"`
	// Review says that the call was let through to be looked at afterwards.
	Review bool `json:"review,omitempty"`
	// Nested is the conversation of the agent that the call set to work.
	Nested *frame `json:"nested,omitempty"`
	// Ran says of a call that is done that it was carried out. It is only kept for agents with a ToolUseBehavior.
	Ran bool `json:"ran,omitempty"`
	// Always says that a standing decision cleared the call.
	Always bool `json:"always,omitempty"`
	// Renew says that only an answer to this very question counts, no standing one.
	Renew    bool      `json:"renew,omitempty"`
	Decision *decision `json:"decision,omitempty"`
	// Output is held here until the outputs before it are there too.
	Output *ToolOutput `json:"output,omitempty"`

	// recorded says that this process knows whether the call has begun, and that the journal has what it led to.
	recorded bool
	// carriedOut says, beside recorded, that it has been carried out, although its output cannot be used.
	carriedOut bool
	// begun says that it has begun, as the application knows, and ended that the journal has its output besides; see
	// RunState.Begun and RunState.Ended.
	begun, ended bool
	// unsent says that the provider has not taken the request that told it to carry the call out.
	unsent bool
	// next is what lets a call that the provider carries out go with the next request.
	next     *job
	effectID string          // ToolCall.EffectID, once somebody needed it
	written  json.RawMessage // canonical, as the model wrote them; read from the item again when a state is decoded
}

// arguments returns the canonical arguments that would be carried out.
func (c *call) arguments() json.RawMessage {
	if c.Arguments != nil {
		return c.Arguments
	}
	return c.written
}

// bind binds the call to the definition, its arguments and its facts.
func (c *call) bind(definition Digest) {
	digest := definition.Call(c.arguments(), c.Preconditions...)
	c.Definition, c.Digest = &definition, &digest
}

// ask makes the call wait for an answer to the question and forgets any it had. Attempt is kept: it counts questions
// about the outcome of the call.
func (c *call) ask(question InterruptionKind) {
	c.enter(callWaiting)
	c.Question, c.Decision = question, nil
	if question != OutcomeUnknown {
		c.Attempt = 0
	}
}

// mayHaveBegun reports whether an earlier execution may have begun the call under what lets it run now.
func (c *call) mayHaveBegun() bool {
	return c.State == callCleared || c.begun && c.Question != OutcomeUnknown
}

// clear lets the call run.
func (c *call) clear(how ruling) {
	c.enter(callCleared)
	c.Review = how.review
	c.Always = how.verdict == approved && !how.exact
}

// complete takes over what people filled in: as far as its gate is concerned, the call is a new one.
func (c *call) complete() {
	arguments := c.Decision.Arguments
	c.enter(callNew)
	c.Arguments, c.Given, c.Unbound, c.Preconditions = arguments, true, false, nil
}

// refuse gives up on a call because of its arguments.
func (c *call) refuse(err error) {
	elsewhere := c.Question == ExternalResult && c.Kind != KindAsk // somebody may have carried it out
	if c.begun || c.State == callCleared || c.Question == OutcomeUnknown || elsewhere {
		c.fail(textGaveUp)
		return
	}
	c.fail(unusableArguments(err))
}

// fail gives the call a problem instead of whatever it was.
func (c *call) fail(problem string) {
	c.Problem = problem
	c.enter(callRefused)
}

// end forgets everything but that the call was made, and whether it ran.
func (c *call) end() { c.enter(callDone) }

func unknownTool(tools *toolbox, name string) string {
	names := tools.names()
	if len(names) == 0 {
		return fmt.Sprintf("There is no tool %q, and no other tool either.", excerpt(name))
	}
	return fmt.Sprintf("There is no tool %q. Available tools: %s.", excerpt(name), strings.Join(names, ", "))
}

func unusableArguments(err error) string {
	return "The call was not carried out: " + excerptLong(err.Error()) + "."
}

// excerpt shortens text of a model for a message.
func excerpt(s string) string { return strictjson.Excerpt(s) }

// excerptLong bounds an error text that the model will read.
func excerptLong(s string) string {
	const max = 2000
	s = validText(s)
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
