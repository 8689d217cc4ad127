package agent

import (
	"fmt"
	"unicode/utf8"
)

// maxAgents bounds a graph of agents, maxDepth how deep agents that use agents as tools may nest.
const (
	maxAgents = 1000
	maxDepth  = 8

	maxAgentName = 1024
)

// graph holds the agents that a run can reach, by name.
type graph map[string]*Agent

// Check reports what is set up wrongly in the agent, or in one that it reaches by handoffs and agents used as tools, as
// running it would: an error that wraps [ErrConfig]. It contacts nobody, so tools of toolsets are not looked at.
func (a *Agent) Check() error {
	_, err := graphOf(a)
	return err
}

// graphOf walks from root along handoffs and agents used as tools, and reports what is set up wrongly.
func graphOf(root *Agent) (graph, error) {
	if root == nil {
		return nil, fmt.Errorf("%w: no agent", ErrConfig)
	}
	g := make(graph, 1)
	return g, g.add(root)
}

func (g graph) add(a *Agent) error {
	switch known, ok := g[a.Name]; {
	case ok && known == a:
		return nil
	case ok:
		return fmt.Errorf("%w: two agents named %q", ErrConfig, a.Name)
	case len(g) == maxAgents:
		return fmt.Errorf("%w: more than %d agents", ErrConfig, maxAgents)
	}
	if err := a.check(); err != nil {
		return err
	}
	g[a.Name] = a
	for i := range a.Tools {
		if inner := a.Tools[i].agent; inner != nil {
			if err := g.add(inner); err != nil {
				return err
			}
		}
	}
	for i := range a.Handoffs {
		if err := g.add(a.Handoffs[i].Agent); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether a conversation that began with the agent named entry can have come to the one named current.
func (g graph) reaches(entry, current string) bool {
	seen := map[string]bool{entry: true}
	for queue := []string{entry}; len(queue) > 0; queue = queue[1:] {
		a := g[queue[0]]
		if queue[0] == current || a == nil {
			return a != nil
		}
		for i := range a.Handoffs {
			if name := a.Handoffs[i].Agent.Name; !seen[name] {
				seen[name] = true
				queue = append(queue, name)
			}
		}
	}
	return false
}

// check reports what is set up wrongly in the agent itself.
func (a *Agent) check() error {
	switch {
	case a.Name == "":
		return fmt.Errorf("%w: agent without a name", ErrConfig)
	case !utf8.ValidString(a.Name) || len(a.Name) > maxAgentName:
		return fmt.Errorf("%w: agent with a name that is not UTF-8, or longer than %d bytes", ErrConfig, maxAgentName)
	case a.Model == nil:
		return fmt.Errorf("%w: agent %q has no model", ErrConfig, a.Name)
	}
	if err := a.checkTools(); err != nil {
		return fmt.Errorf("%w: agent %q: %w", ErrConfig, a.Name, err)
	}
	for i, set := range a.Toolsets {
		if set == nil {
			return fmt.Errorf("%w: agent %q: toolset %d is nil", ErrConfig, a.Name, i)
		}
	}
	if err := a.ToolUse.check(); err != nil {
		return fmt.Errorf("%w: agent %q: %w", ErrConfig, a.Name, err)
	}
	if err := a.checkGuardrails(); err != nil {
		return fmt.Errorf("%w: agent %q: %w", ErrConfig, a.Name, err)
	}
	return nil
}

func (a *Agent) checkTools() error {
	for i := range a.Tools {
		tool := &a.Tools[i]
		if err := tool.check(); err != nil {
			return fmt.Errorf("tool %q: %w", tool.Name, err)
		}
		if a.tool(tool.Name) != tool {
			return fmt.Errorf("two tools named %q", tool.Name)
		}
	}
	if err := a.checkHandoffs(); err != nil {
		return err
	}
	return a.ownTools().checkForms()
}

func (a *Agent) checkHandoffs() error {
	for i := range a.Handoffs {
		h := &a.Handoffs[i]
		if err := h.check(); err != nil {
			return fmt.Errorf("handoff %d: %w", i, err)
		}
		name := h.name()
		if a.tool(name) != nil {
			return fmt.Errorf("a tool and a handoff named %q", name)
		}
		for j := range i {
			if a.Handoffs[j].name() == name {
				return fmt.Errorf("two handoffs named %q", name)
			}
		}
	}
	return nil
}
