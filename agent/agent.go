package agent

import "context"

// Agent is a configured model with instructions and tools. It is read-only while runs use it; one Agent may serve
// many runs at once.
type Agent struct {
	// Name identifies the agent in states, interruptions and logs. It must not be empty, and unique in a graph of
	// agents: a saved state finds its agents by name.
	Name string
	// Instructions are sent to the model as the system prompt of each turn.
	Instructions string
	// Model answers the turns. It must not be nil.
	Model Model
	// Tools are what the model may call. Names must be unique, also among handoffs and what Toolsets return.
	Tools []Tool
	// Toolsets are asked for further tools before each model call and before open calls go on.
	Toolsets []Toolset
	// Handoffs are the agents that this one can hand the conversation over to.
	Handoffs []Handoff
	// InputGuardrails check the input before the first turn of a run that starts with this agent, and input that is
	// added while it is this agent's turn. OutputGuardrails check this agent's answer before the run ends with it.
	InputGuardrails  []InputGuardrail
	OutputGuardrails []OutputGuardrail
	// ToolUse says what happens when the calls of a turn have their outputs. The zero value calls the model again.
	ToolUse ToolUseBehavior
	// Shorten, if set, is asked before each model call what of the conversation the model is not to be shown any more;
	// see History and, in package agent/history, KeepNewest. Its error ends the run, which can be resumed. It cannot go
	// together with a Conversation that the provider keeps.
	Shorten func(ctx context.Context, h *History) error
	// Output, if set, is what the answer must look like; an answer that is not is ErrModelBehavior.
	Output *OutputSchema
	// Settings are passed to the model as they are, but for a ToolChoice that forces calls: it holds until the agent
	// has made one, unless KeepToolChoice. A model that is forced for ever never answers.
	Settings       ModelSettings
	KeepToolChoice bool
}

// tool returns the agent's own tool with the name, or nil.
func (a *Agent) tool(name string) *Tool {
	for i := range a.Tools {
		if a.Tools[i].Name == name {
			return &a.Tools[i]
		}
	}
	return nil
}
