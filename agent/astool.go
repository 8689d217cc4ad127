package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// AsToolOptions say how an agent is used as a tool. The zero value is usable.
type AsToolOptions struct {
	// Name is what the model calls the tool. Empty: the agent's name, if that is a name for a tool.
	Name        string
	Description string
	// Parameters is the JSON Schema of what the model says; Validate checks it and must be set with it. Empty: an object
	// with one string, "input".
	Parameters json.RawMessage
	Validate   func(json.RawMessage) error
	// Input makes the agent's input of the call. Nil: the string "input", or with Parameters the arguments as they are.
	Input func(call *ToolCall) ([]Item, error)
	// MaxTurns bounds the model calls of one use. Zero: DefaultMaxTurns. Negative: no limit.
	MaxTurns int
}

// agentTool is what a tool made by Agent.AsTool knows beyond other tools.
type agentTool struct {
	agent    *Agent
	input    func(call *ToolCall) ([]Item, error)
	maxTurns int
}

var errNilAgent = errors.New("AsTool of a nil agent")

// inputSchema is the schema of an agent's tool without parameters of its own.
const inputSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// AsTool returns a tool that lets another agent use this one: the agent gets the call's input, works with its own
// tools, and its answer is the call's output. See AsToolWith.
func (a *Agent) AsTool(name, description string) Tool {
	return a.AsToolWith(AsToolOptions{Name: name, Description: description})
}

// AsToolWith returns a tool that lets another agent use this one.
//
// Questions about calls of the agent's own tools are interruptions of the run that uses it, with the path of agents,
// and are answered there. Whoever is not asked about goes on meanwhile. The agent sees nothing of the outer
// conversation, has its own count of turns, and its usage is part of the run's. A decision with Always about one of its
// tools holds for the rest of the run, also when it is used again. The returned tool may be gated like any other: that
// is a question of its own, before the agent begins.
//
// An agent that runs out of turns, answers against the protocol or trips a guardrail ends its use only: the model that
// used it reads why, once nothing inside has an unknown outcome any more. Other errors end the run, which can be resumed.
func (a *Agent) AsToolWith(o AsToolOptions) Tool {
	if a == nil {
		return Tool{Name: o.Name, err: errNilAgent}
	}
	t := Tool{
		Name: o.Name, Description: o.Description, Kind: KindAgent, Parameters: o.Parameters, Validate: o.Validate,
		Binding: []string{a.Name},
		agent:   &agentTool{agent: a, input: o.Input, maxTurns: o.MaxTurns},
	}
	if t.Name == "" {
		t.Name = a.Name
	}
	if t.agent.maxTurns == 0 {
		t.agent.maxTurns = DefaultMaxTurns
	}
	if t.agent.maxTurns < 0 {
		t.agent.maxTurns = noTurnLimit
	}
	if len(t.Parameters) > 0 {
		return t
	}
	type input struct {
		Input string `json:"input"`
	}
	plain := NewTool(t.Name, "", func(context.Context, input) (string, error) { return "", nil })
	t.Parameters, t.Validate = json.RawMessage(inputSchema), plain.Validate
	return t
}

// inputOf returns what the agent is asked.
func (t *agentTool) inputOf(call *ToolCall) ([]Item, error) {
	if t.input != nil {
		return t.input(call)
	}
	var given map[string]json.RawMessage
	var text string
	if json.Unmarshal(call.Arguments, &given) == nil && len(given) == 1 && json.Unmarshal(given["input"], &text) == nil {
		return []Item{UserMessage(text)}, nil
	}
	return []Item{UserMessage(string(call.Arguments))}, nil
}

// delegate takes the conversation of an agent that is used as a tool as far as it gets.
//
// To begin it has no effect outside, so it may be begun again after a crash; but the journal has its say about the
// decision that allowed it.
func (l *loop) delegate(ctx context.Context, j *job) outcome {
	if j.call.Nested == nil {
		if o := l.begin(ctx, j); o.output != nil || o.question != "" || o.err != nil {
			return o
		}
	}
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	f := j.call.Nested
	err := l.loop(f).run(ctx)
	switch {
	case err != nil && told(err) && ctx.Err() == nil && !f.mayHaveBegun():
		if f.asksWhatBecame() {
			return outcome{waits: true} // it ends once people have said so
		}
		return l.answered(ctx, j, ToolOutput{Text: fmt.Sprintf("The agent %s could not finish: %s.", f.entry, excerptLong(err.Error()))})
	case err != nil:
		return outcome{err: fmt.Errorf("agent %q: %w", f.entry, err)}
	case f.final == nil:
		return outcome{waits: true}
	}
	return l.answered(ctx, j, ToolOutput{Text: *f.final})
}

// answered ends the use of an agent with an output, once the guardrails of its tool have seen it.
func (l *loop) answered(ctx context.Context, j *job, output ToolOutput) (o outcome) {
	output = j.call.noted(j.tool, output)
	l.emit(ToolEnded{Call: j.input.clone(), Output: output})
	l.outside(func() {
		l.hook(ctx, func(h *Hooks) {
			if h.ToolEnd != nil {
				own := j.input.clone()
				h.ToolEnd(ctx, &own, output)
			}
		})
		o = l.guardOutput(ctx, j, output)
	})
	return o
}

// begin records that the agent begins, and begins its conversation.
func (l *loop) begin(ctx context.Context, j *job) outcome {
	effect, err := l.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return outcome{err: err}
	}
	if o, ends := l.check(ctx, j); ends {
		return o
	}
	began, err := l.journal.Intent(ctx, effect)
	switch {
	case errors.Is(err, ErrStale):
		return outcome{question: Confirm, attempt: effect.Attempt}
	case err != nil && !errors.Is(err, ErrOutcomeUnknown):
		return outcome{err: fmt.Errorf("journal intent of %s: %w", effect.Interruption, err)}
	case err == nil && began == nil: // else it had begun before a crash, and what came of that is lost
		if err := l.done(ctx, effect, ToolOutput{Text: "The agent has begun."}); err != nil {
			return outcome{err: err}
		}
	}
	inner := j.tool.agent
	own := j.input.clone()
	var input []Item
	err = l.safely(ctx, "input of an agent", own.Tool, func() (err error) {
		input, err = inner.inputOf(&own)
		return err
	})
	if err != nil {
		return outcome{output: &ToolOutput{Text: unusableArguments(err)}, untouched: true}
	}
	l.emit(ToolStarted{Call: j.input.clone()})
	l.hook(ctx, func(h *Hooks) {
		if h.ToolStart != nil {
			own := j.input.clone()
			h.ToolStart(ctx, &own)
		}
	})
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	if l.frame.depth() >= maxDepth {
		return outcome{output: &ToolOutput{Text: fmt.Sprintf("The agent was not asked: agents already use each other %d deep.", maxDepth)}, untouched: true}
	}
	if _, err := l.frame.nest(j.call, inner.agent, inner.maxTurns, input); err != nil {
		return outcome{err: err}
	}
	return outcome{}
}
