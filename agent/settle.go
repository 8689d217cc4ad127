package agent

import (
	"context"
	"fmt"
)

// Texts that the model reads as the output of a call.
const (
	textGaveUp = "It is not known whether this call was carried out, and it will not be tried again."
	textPanic  = "The tool failed with an internal error."
)

// job is a call that may run now.
type job struct {
	call  *call
	tool  *Tool
	input ToolCall
	how   ruling
}

// round holds the calls that get an output together, in the model's order, and the jobs among them.
type round struct {
	calls []*call
	jobs  []*job
}

// settle brings the calls of the turn as far as they get without another decision. Afterwards the turn has ended, or
// every call that is left waits. What was found out about fresh calls is in a checkpoint before any of them runs: after
// a crash no gate is asked again about a call that may have begun.
func (x *execution) settle(ctx context.Context, fresh bool) error {
	r, err := x.plan(ctx)
	if err != nil {
		return err
	}
	if moved := x.state.flush(r); moved || fresh {
		if err := x.checkpoint(ctx); err != nil {
			return err
		}
	}
	return x.execute(ctx, r)
}

// plan decides about every call that has no output yet.
func (x *execution) plan(ctx context.Context) (*round, error) {
	var r round
	for _, c := range x.state.calls {
		if c.State == callDone {
			continue
		}
		j, err := x.prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		if j != nil {
			r.jobs = append(r.jobs, j)
		}
		if j != nil || c.Output != nil {
			r.calls = append(r.calls, c)
		}
	}
	return &r, nil
}

// prepare decides what happens to a call that has no output yet: a job says that it may run; with neither a job nor
// an output it waits.
func (x *execution) prepare(ctx context.Context, c *call) (*job, error) {
	if c.Output != nil {
		return nil, nil
	}
	input := x.state.toolCall(c)
	input.Run = x.shared
	how := x.state.ruling(c)
	var tool *Tool
	if x.state.needsTool(c) {
		var err error
		if tool, err = x.usable(c); err != nil {
			return nil, err
		}
	}
	if tool != nil && how.verdict == undecided && c.State == callNew {
		if !x.asks(ctx, tool, input) {
			how = ruling{verdict: free}
		} else {
			how = x.state.ruling(c) // the gate may have recorded an answer
		}
	}
	switch {
	case c.Problem != "":
		c.Output = &ToolOutput{Text: c.Problem}
	case how.verdict == rejected:
		c.Output = &ToolOutput{Text: x.rejection(ctx, c, how, input)}
	case how.output != nil:
		c.Output = how.output
	case how.verdict == undecided:
		c.wait()
	default:
		c.clear(how)
		return &job{call: c, tool: tool, input: input, how: how}, nil
	}
	return nil, nil
}

// usable returns the tool of a call, or gives the call a problem when the tool no longer takes its arguments. A call
// that may have begun keeps going: the journal knows what became of it.
func (x *execution) usable(c *call) (*Tool, error) {
	tool := x.agent.tool(c.Tool)
	if tool == nil {
		return nil, fmt.Errorf("%w: %q of agent %q", ErrUnknownTool, c.Tool, x.agent.Name)
	}
	if c.State == callCleared {
		return tool, nil
	}
	if err := tool.validate(c.arguments); err != nil {
		c.refuse(err)
		return nil, nil
	}
	return tool, nil
}

// asks evaluates the tool's gate. A gate that fails asks.
func (x *execution) asks(ctx context.Context, tool *Tool, input ToolCall) (yes bool) {
	if tool.NeedsApproval == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			x.log.ErrorContext(ctx, "gate panicked; asking", "tool", tool.Name)
			yes = true
		}
	}()
	own := input.clone()
	yes, err := tool.NeedsApproval(ctx, &own)
	if err != nil {
		x.log.WarnContext(ctx, "gate failed; asking", "tool", tool.Name)
	}
	return yes || err != nil
}

// rejection returns what the model reads about a rejected call: the message given with the decision, else the one
// given with a standing decision, else the application's wording.
func (x *execution) rejection(ctx context.Context, c *call, how ruling, input ToolCall) string {
	switch {
	case how.message != nil:
		return *how.message
	case c.Question == OutcomeUnknown:
		return textGaveUp
	case x.RejectionMessage == nil:
		return DefaultRejection
	}
	text, err := x.wordRejection(ctx, input)
	if err != nil {
		x.log.WarnContext(ctx, "rejection message failed; using the default", "tool", c.Tool)
	}
	if err != nil || text == "" {
		return DefaultRejection
	}
	return validText(text)
}

func (x *execution) wordRejection(ctx context.Context, input ToolCall) (text string, err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return x.RejectionMessage(ctx, &input)
}

// flush moves outputs of the round to the items: those at its front, so that outputs stand in the model's order
// however the calls finish. It reports whether it moved any.
func (s *RunState) flush(r *round) bool {
	n := 0
	for n < len(r.calls) && r.calls[n].Output != nil {
		c := r.calls[n]
		s.append(Item{Type: ItemFunctionCallOutput, CallID: c.ID, Output: c.Output.Text, Agent: s.agentName()})
		*c = call{ID: c.ID, Tool: c.Tool, State: callDone}
		n++
	}
	r.calls = r.calls[n:]
	s.endTurn()
	return n > 0
}

// endTurn forgets the calls of the turn when all of them have their output.
func (s *RunState) endTurn() {
	for _, c := range s.calls {
		if c.State != callDone {
			return
		}
	}
	s.calls = nil
}
