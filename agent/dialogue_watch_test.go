package agent_test

import (
	"context"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/agent/scripted"
)

func (d *dialogue) hooks(panics bool) *agent.Hooks {
	see := func(what string) {
		d.note("hook " + what)
		if panics {
			panic("hook broke")
		}
	}
	return &agent.Hooks{
		AgentStart: func(_ context.Context, a *agent.Agent) { see("agent start " + a.Name) },
		AgentEnd: func(_ context.Context, a *agent.Agent, out string) {
			see("agent end " + a.Name + " " + strconv.Quote(out))
		},
		ModelStart: func(_ context.Context, a *agent.Agent, _ *agent.ModelRequest) { see("model start " + a.Name) },
		ModelEnd:   func(_ context.Context, a *agent.Agent, _ *agent.ModelResponse) { see("model end " + a.Name) },
		ToolStart:  func(_ context.Context, c *agent.ToolCall) { see("tool start " + c.Tool + " " + c.ID) },
		ToolEnd: func(_ context.Context, c *agent.ToolCall, out agent.ToolOutput) {
			see("tool end " + c.Tool + " " + c.ID + " " + strconv.Quote(out.Text))
		},
		Handoff: func(_ context.Context, from, to *agent.Agent) { see("handoff " + from.Name + " to " + to.Name) },
	}
}

// recorded notes what the agent's model is asked.
func (d *dialogue) recorded(a *agent.Agent) agent.Model { return &recordedModel{d, a} }

type recordedModel struct {
	d *dialogue
	a *agent.Agent
}

func (m *recordedModel) note(req *agent.ModelRequest) {
	line := "asked " + m.a.Name
	for _, part := range [][2]string{
		{"conversation", req.Conversation}, {"previous", req.PreviousResponseID}, {"choice", req.Settings.ToolChoice},
	} {
		if part[1] != "" {
			line += " " + part[0] + "=" + part[1]
		}
	}
	if req.Output != nil {
		line += " output=" + req.Output.Name
	}
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	line += " [" + strings.Join(tools, " ") + "]:"
	for l := range strings.Lines(describe(req.Items)) {
		line += " | " + strings.TrimSuffix(l, "\n")
	}
	m.d.note(line)
}

func (m *recordedModel) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	m.note(req)
	return m.a.Model.Respond(ctx, req)
}

func (m *recordedModel) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	m.note(req)
	return m.a.Model.(*scripted.Model).RespondStream(ctx, req, emit)
}

// watchedJournal notes what the journal is told.
type watchedJournal struct {
	*faultyJournal
	d *dialogue
}

func (j *watchedJournal) Intent(ctx context.Context, e agent.Effect) (agent.Prior, error) {
	line := "effect " + e.Interruption + " " + string(e.Call.Arguments)
	for _, part := range []struct {
		is   bool
		text string
	}{
		{e.Decided, "decided"},
		{e.Program, "by a program"},
		{e.Always, "always"},
		{e.Review, "review"},
		{e.Retry, "retry"},
		{e.Original != nil, "originally " + string(e.Original)},
		{len(e.Preconditions) > 0, "facts " + strings.Join(e.Preconditions, ", ")},
		{e.Digest != e.Definition.Call(e.Call.Arguments, e.Preconditions...), "WRONG DIGEST"},
	} {
		if part.is {
			line += ", " + part.text
		}
	}
	j.d.note(line)
	return j.faultyJournal.Intent(ctx, e)
}
