package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
)

// AgentUse says how an agent is used as a tool: Tool.Use of a tool that Agent.AsTool made. The zero value is usable.
type AgentUse struct {
	// MaxTurns bounds the model calls of one use. Zero: DefaultMaxTurns. Negative: no limit.
	MaxTurns int
	// Input makes what the agent is asked of the call. Nil: the string "input" where it is all there is, else the
	// arguments as they are.
	Input func(call *ToolCall) ([]Item, error)
}

var errNilAgent = errors.New("AsTool of a nil agent")

// inputSchema is the schema of an agent's tool without parameters of its own.
const inputSchema = `{"type":"object","properties":{"input":{"type":"string"}},` +
	`"required":["input"],"additionalProperties":false}`

// AsTool returns a tool that lets another agent use this one: the agent gets the call's input, works with its own
// tools, and its answer is the call's output. An empty name is the agent's own. The caller may set further fields of
// the tool: Use, a gate, or Parameters with Validate, where the model shall say something else than one text.
//
// Questions about calls of the agent's own tools are interruptions of the run that uses it, with the path of agents,
// and are answered there. Siblings that nobody is asked about run meanwhile. The agent sees nothing of the outer
// conversation, has its own count of turns, and its usage is part of the run's. A decision with Always about one of
// its tools holds for the rest of the run, also when it is used again. A gate on the returned tool is a question of
// its own, before the agent begins.
//
// An agent that runs out of turns, answers against the protocol or trips a guardrail ends its use only: the model
// that used it reads why, once nothing inside has an unknown outcome any more. Other errors end the run, which can be
// resumed.
func (a *Agent) AsTool(name, description string) Tool {
	if a == nil {
		return Tool{Name: name, err: errNilAgent}
	}
	type input struct {
		Input string `json:"input"`
	}
	t := NewTool(cmp.Or(name, a.Name), description, func(context.Context, input) (string, error) { return "", nil })
	t.Kind, t.Parameters, t.Invoke = KindAgent, json.RawMessage(inputSchema), nil
	t.Attributes, t.agent = []string{a.Name}, a
	return t
}

// turns returns how many model calls one use may make.
func (u *AgentUse) turns() int {
	switch {
	case u.MaxTurns == 0:
		return DefaultMaxTurns
	case u.MaxTurns < 0:
		return noTurnLimit
	}
	return min(u.MaxTurns, maxTurnLimit)
}

// inputOf returns what the agent is asked.
func (u *AgentUse) inputOf(call *ToolCall) ([]Item, error) {
	if u.Input != nil {
		return u.Input(call)
	}
	var given map[string]json.RawMessage
	var text string
	if json.Unmarshal(call.Arguments, &given) == nil && len(given) == 1 &&
		json.Unmarshal(given["input"], &text) == nil {
		return []Item{UserMessage(text)}, nil
	}
	return []Item{UserMessage(string(call.Arguments))}, nil
}
