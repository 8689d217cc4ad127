package agent

import (
	"context"
	"fmt"
)

// toolbox is what an agent can call at one time: its own tools, those of its toolsets, and its handoffs.
type toolbox struct {
	tools   []*Tool
	partial bool // toolsets were not asked
}

// ownTools returns the agent's tools and handoffs, without asking its toolsets.
func (a *Agent) ownTools() *toolbox {
	b := &toolbox{tools: make([]*Tool, 0, len(a.Tools)+len(a.Handoffs)), partial: len(a.Toolsets) > 0}
	for i := range a.Tools {
		b.tools = append(b.tools, &a.Tools[i])
	}
	for i := range a.Handoffs {
		b.tools = append(b.tools, a.Handoffs[i].tool())
	}
	return b
}

// allTools returns everything that the agent can call now.
func (a *Agent) allTools(ctx context.Context) (*toolbox, error) {
	own := a.ownTools()
	if !own.partial {
		return own, nil
	}
	b := &toolbox{tools: append([]*Tool(nil), own.tools[:len(a.Tools)]...)}
	for _, set := range a.Toolsets {
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrToolset, set.Name(), err)
		}
		for i := range tools {
			b.tools = append(b.tools, &tools[i])
		}
	}
	b.tools = append(b.tools, own.tools[len(a.Tools):]...)
	if err := b.check(len(a.Tools)); err != nil {
		return nil, fmt.Errorf("%w: agent %q: %w", ErrConfig, a.Name, err)
	}
	return b, nil
}

// check looks at what the toolsets added behind the agent's own tools.
func (b *toolbox) check(own int) error {
	seen := make(map[string]bool, len(b.tools))
	if err := b.checkForms(); err != nil {
		return err
	}
	for i, t := range b.tools {
		if i >= own && t.handoff == nil {
			if err := t.check(); err != nil {
				return fmt.Errorf("tool %q: %w", t.Name, err)
			}
			if t.agent != nil {
				return fmt.Errorf("tool %q: a toolset cannot bring an agent: a saved run would not find it", t.Name)
			}
		}
		if seen[t.Name] {
			return fmt.Errorf("two tools named %q", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// checkForms refuses tools that a provider's calls cannot tell apart.
func (b *toolbox) checkForms() error {
	seen := make(map[WireForm]bool)
	for _, t := range b.tools {
		if t.Wire != WireShell && t.Wire != WireApplyPatch {
			continue
		}
		if seen[t.Wire] {
			return fmt.Errorf("two tools of the form %q: the provider's calls do not name their tool", t.Wire)
		}
		seen[t.Wire] = true
	}
	return nil
}

// find returns the tool that a call is for, or nil.
func (b *toolbox) find(it *Item) *Tool {
	form := callForms[it.Type].form
	for _, t := range b.tools {
		if t.Wire != form {
			continue
		}
		switch form {
		case WireFunction, WireCustom:
			if t.Name == it.Name {
				return t
			}
		case WireHosted:
			if t.Kind == KindHostedMCP && t.Name == it.Server {
				return t
			}
		default:
			return t
		}
	}
	return nil
}

// names returns the names of the tools that a model can call.
func (b *toolbox) names() []string {
	names := make([]string, 0, len(b.tools))
	for _, t := range b.tools {
		if t.Wire != WireHosted {
			names = append(names, t.Name)
		}
	}
	return names
}

// definitions returns what the model is told.
func (b *toolbox) definitions() []ToolDefinition {
	list := make([]ToolDefinition, len(b.tools))
	for i, t := range b.tools {
		list[i] = t.definition()
	}
	return list
}
