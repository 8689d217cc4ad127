package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent/internal/lex"
)

var (
	errForgedOutput = errors.New("a model cannot write the output of a call")
	errForeignRole  = errors.New("a model cannot speak in another role than its own")
	errNoCallID     = errors.New("a call without an id")
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
	// Always says that a standing decision cleared the call.
	Always bool `json:"always,omitempty"`
	// Renew says that only an answer to this very question counts, no standing one.
	Renew    bool      `json:"renew,omitempty"`
	Decision *decision `json:"decision,omitempty"`
	// Output is held here until the outputs before it are there too.
	Output *ToolOutput `json:"output,omitempty"`

	arguments json.RawMessage // canonical; read from the item again when a state is decoded
}

// newCall reads a call of the agent. Whatever is wrong with it becomes its problem.
func newCall(a *Agent, it *Item, written string) *call {
	c := &call{ID: it.CallID, Tool: it.Name, State: callNew}
	tool := a.tool(it.Name)
	if tool == nil {
		c.Problem = unknownTool(a, it.Name)
		return c
	}
	c.Kind = tool.kind()
	arguments, err := CanonicalArguments([]byte(written))
	if err == nil {
		err = tool.validate(arguments)
	}
	if err != nil {
		c.Problem = unusableArguments(err)
		return c
	}
	c.arguments = arguments
	c.rebind(tool)
	return c
}

// rebind binds the call to what the tool is now. Whether a call has begun that was cleared for the tool as it was,
// somebody has to find out, unless it does not matter.
func (c *call) rebind(tool *Tool) {
	definition := tool.Digest()
	digest := CallDigest(definition, c.arguments)
	c.Kind, c.Definition, c.Digest = tool.kind(), &definition, &digest
	switch {
	case c.State == callCleared && tool.Idempotent:
		*c = call{ID: c.ID, Tool: c.Tool, Kind: c.Kind, State: callNew, Definition: c.Definition, Digest: c.Digest, arguments: c.arguments}
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
	c.State, c.Question, c.Decision, c.Always = callWaiting, question, nil, false
}

// clear lets the call run.
func (c *call) clear(how ruling) {
	c.State, c.Renew = callCleared, false
	c.Always = how.verdict == approved && !how.exact
}

// wait makes the call wait for approval, unless it waits for something already.
func (c *call) wait() {
	if c.State == callNew {
		c.ask(Confirm)
	}
}

func unknownTool(a *Agent, name string) string {
	names := make([]string, len(a.Tools))
	for i := range a.Tools {
		names[i] = a.Tools[i].Name
	}
	if len(names) == 0 {
		return fmt.Sprintf("There is no tool %q, and no other tool either.", excerpt(name))
	}
	return fmt.Sprintf("There is no tool %q. Available tools: %s.", excerpt(name), strings.Join(names, ", "))
}

func unusableArguments(err error) string {
	return "The call was not carried out: " + excerptLong(err.Error()) + "."
}

// excerpt shortens text of a model for a message.
func excerpt(s string) string { return lex.Excerpt(s) }

// excerptLong bounds an error text that the model will read.
func excerptLong(s string) string {
	const max = 2000
	s = validText(s)
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}

// toolCall returns the call as gates, tools and people see it. Nothing in it is shared.
func (s *RunState) toolCall(c *call) ToolCall {
	return ToolCall{
		ID:        c.ID,
		Tool:      c.Tool,
		Kind:      c.Kind,
		Arguments: slices.Clone(c.arguments),
		Agent:     s.agentName(),
		Path:      slices.Clone(s.path),
		Turn:      s.turn,
		EffectID:  effectID(s.id, s.path, s.turn, c.ID),
	}
}

func (s *RunState) agentName() string { return s.path[len(s.path)-1] }
