package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent/internal/strictjson"
)

var (
	errForgedOutput = errors.New("a model cannot write the output of a call")
	errForeignRole  = errors.New("a model cannot speak in another role than its own")
	errNoCallID     = errors.New("a call without an id")
	errNoToolName   = errors.New("an approval request of an MCP server that names no tool")
)

// callState is how far a call of the current turn has come.
type callState string

const (
	callNew     callState = "new"     // read from the response; nobody has asked its gate
	callWaiting callState = "waiting" // open: people have been asked, or will be when the run returns
	callCleared callState = "cleared" // may run, and may have begun: no later decision can undo that
	callDone    callState = "done"    // its output is among the items
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
	// Preconditions are what Tool.Preconditions said; Unbound says that it has still to be asked, because a person changed the arguments.
	Preconditions []string `json:"facts,omitempty"`
	Unbound       bool     `json:"unbound,omitempty"`
	// Arguments replace those of the item: a person changed or completed them. Given says that nothing is left to fill in.
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

	// onRecord says that this process knows whether the call has begun, and that the journal has what it led to.
	onRecord bool
	// carriedOut says, beside onRecord, that it has been carried out, although its output cannot be used.
	carriedOut bool
	written    json.RawMessage // canonical, as the model wrote them; read from the item again when a state is decoded
}

// arguments returns the canonical arguments that would be carried out.
func (c *call) arguments() json.RawMessage {
	if c.Arguments != nil {
		return c.Arguments
	}
	return c.written
}

// newCall reads a call of the model. Whatever is wrong with it becomes its problem.
func (f *frame) newCall(it *Item, written string) *call {
	c := &call{ID: it.CallID, Tool: it.Name, State: callNew}
	tool := f.tools().find(it)
	if tool == nil {
		if c.Tool == "" {
			c.Tool = string(it.Type)
		}
		c.Problem = unknownTool(f.box, c.Tool)
		return c
	}
	c.Tool, c.Kind = tool.Name, tool.kind()
	arguments, err := it.arguments(written)
	if err == nil {
		c.written = arguments
		err = tool.validateCall(c)
	}
	if err != nil {
		c.Problem = unusableArguments(err)
		c.written = nil
		return c
	}
	c.bind(f.definitionOf(it, tool))
	return c
}

// definition returns the definition of what the call would run: that of the tool, and for a hosted MCP server that of
// the server's tool as it was last listed.
func (f *frame) definition(c *call, tool *Tool) Digest { return f.definitionOf(f.callItem(c), tool) }

func (f *frame) definitionOf(it *Item, tool *Tool) Digest {
	if it.Type != ItemMCPApprovalRequest {
		return tool.Digest()
	}
	server := tool.Digest()
	h := newParts("countersign.hosted/1")
	h.add(string(server[:]))
	h.add(it.Name)
	h.add(f.listed(it.Server, it.Name))
	return h.sum()
}

// listed returns how a hosted MCP server described one of its tools last, or nothing.
func (f *frame) listed(server, name string) string {
	for _, it := range slices.Backward(f.items) {
		if it.Type != ItemMCPListTools || it.Server != server {
			continue
		}
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(it.Raw, &list) != nil {
			return ""
		}
		for _, raw := range list.Tools {
			var tool struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(raw, &tool) == nil && tool.Name == name {
				return string(raw)
			}
		}
		return ""
	}
	return ""
}

// bind binds the call to the definition, its arguments and its facts.
func (c *call) bind(definition Digest) {
	digest := definition.Call(c.arguments(), c.Preconditions...)
	c.Definition, c.Digest = &definition, &digest
}

// rebind binds the call to what the tool is now. Whether a call has begun that was cleared for the tool as it was,
// somebody has to find out, unless it does not matter.
func (f *frame) rebind(c *call, tool *Tool) {
	c.Kind = tool.kind()
	c.bind(f.definition(c, tool))
	switch {
	case c.State == callCleared && tool.repeatable():
		*c = call{ID: c.ID, Tool: c.Tool, Kind: c.Kind, State: callNew, Definition: c.Definition, Digest: c.Digest,
			Preconditions: c.Preconditions, Arguments: c.Arguments, Given: c.Given, AskedAgain: c.AskedAgain, written: c.written}
	case c.State == callCleared:
		c.doubt(c.Attempt + 1)
	}
}

// doubt asks what became of the call.
func (c *call) doubt(attempt int) {
	c.ask(OutcomeUnknown)
	c.Renew, c.Attempt = true, attempt
}

// refuse gives up on a call because of its arguments.
func (c *call) refuse(err error) {
	if c.State == callCleared || c.Question == OutcomeUnknown {
		c.fail(textGaveUp)
		return
	}
	c.fail(unusableArguments(err))
}

// fail gives the call a problem instead of whatever it was.
func (c *call) fail(problem string) {
	*c = call{ID: c.ID, Tool: c.Tool, Kind: c.Kind, State: callNew, Problem: problem}
}

// ask makes the call wait for an answer to the question and forgets any it had.
func (c *call) ask(question InterruptionKind) {
	c.State, c.Question, c.Decision, c.Always, c.Review = callWaiting, question, nil, false, false
}

// clear lets the call run.
func (c *call) clear(how ruling) {
	c.State, c.Renew = callCleared, false
	c.Review = how.review
	c.Always = how.verdict == approved && !how.exact
}

// wait makes the call wait for approval, unless it waits for something already. It reports whether it is a new question.
func (c *call) wait() bool {
	if c.State != callNew {
		return false
	}
	c.ask(Confirm)
	return true
}

func unknownTool(box *toolbox, name string) string {
	names := box.names()
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
