package agent

import "fmt"

// Agent is a configured model with instructions and tools. It is read-only while runs use it; one Agent may serve
// many runs at once.
type Agent struct {
	// Name identifies the agent in states, interruptions and logs. It must not be empty, and unique in a graph of
	// agents: a saved state finds its agent by name.
	Name string
	// Instructions are sent to the model as the system prompt of each turn.
	Instructions string
	// Model answers the turns. It must not be nil.
	Model Model
	// Tools are what the model may call. Names must be unique.
	Tools []Tool
	// Settings are passed to the model as they are.
	Settings ModelSettings
}

// check reports what is set up wrongly.
func (a *Agent) check() error {
	switch {
	case a == nil:
		return fmt.Errorf("%w: no agent", ErrConfig)
	case a.Name == "":
		return fmt.Errorf("%w: agent without a name", ErrConfig)
	case a.Model == nil:
		return fmt.Errorf("%w: agent %q has no model", ErrConfig, a.Name)
	}
	for i := range a.Tools {
		tool := &a.Tools[i]
		if err := tool.check(); err != nil {
			return fmt.Errorf("%w: agent %q: tool %q: %w", ErrConfig, a.Name, tool.Name, err)
		}
		if a.tool(tool.Name) != tool {
			return fmt.Errorf("%w: agent %q has two tools named %q", ErrConfig, a.Name, tool.Name)
		}
	}
	return nil
}

// tool returns the tool with the name, or nil.
func (a *Agent) tool(name string) *Tool {
	for i := range a.Tools {
		if a.Tools[i].Name == name {
			return &a.Tools[i]
		}
	}
	return nil
}
