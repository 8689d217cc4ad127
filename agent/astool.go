package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
const inputSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// AsTool returns a tool that lets another agent use this one: the agent gets the call's input, works with its own
// tools, and its answer is the call's output. An empty name is the agent's own. The caller may set further fields of the
// tool: Use, a gate, or Parameters with Validate, where the model shall say something else than one text.
//
// Questions about calls of the agent's own tools are interruptions of the run that uses it, with the path of agents,
// and are answered there. Siblings that nobody is asked about run meanwhile. The agent sees nothing of the outer
// conversation, has its own count of turns, and its usage is part of the run's. A decision with Always about one of its
// tools holds for the rest of the run, also when it is used again. A gate on the returned tool is a question of its own,
// before the agent begins.
//
// An agent that runs out of turns, answers against the protocol or trips a guardrail ends its use only: the model that
// used it reads why, once nothing inside has an unknown outcome any more. Other errors end the run, which can be resumed.
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
	own := j.input.clone()
	var input []Item
	err = l.safely(ctx, "input of an agent", own.Tool, func() (err error) {
		input, err = j.tool.Use.inputOf(&own)
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
	if _, err := l.frame.nest(j.call, j.tool, input); err != nil {
		return outcome{err: err}
	}
	return outcome{}
}
