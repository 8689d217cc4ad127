package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// textSecondHandoff is what the model reads about a handoff that came too late.
const textSecondHandoff = "The conversation was handed over by an earlier call of the same response; " +
	"this call was ignored."

// handOver carries out the handoffs of a turn whose other calls all have their outputs.
func (l *loop) handOver(ctx context.Context) error {
	f := l.frame
	target, outputs, err := l.chooseHandoff(ctx)
	if err != nil {
		return err
	}
	shown, err := l.filtered(ctx, target, outputs)
	if err != nil {
		return fmt.Errorf("handoff to %q: %w", target.Agent.Name, err)
	}
	from, path := l.agent, f.path()
	for _, it := range outputs {
		f.append(it)
	}
	f.calls = nil
	if target != nil {
		f.handTo(target, shown)
		l.agent, l.begins = l.state.graph[target.Agent.Name], true
		l.log = l.base.With("run", l.state.id, "agent", l.agent.Name)
	}
	for _, it := range outputs {
		l.emit(ItemAdded{Path: path, Item: it})
	}
	if target != nil {
		l.handedOver(ctx, from)
	}
	return l.checkpoint(ctx)
}

// handedOver tells that another agent has taken over.
func (l *loop) handedOver(ctx context.Context, from *Agent) {
	l.emit(HandedOff{Path: l.frame.path(), From: from.Name, To: l.agent.Name})
	l.unlocked(func() {
		l.hook(ctx, func(h *Hooks) {
			if h.Handoff != nil {
				h.Handoff(ctx, from, l.agent)
			}
		})
	})
}

// chooseHandoff returns the first handoff of the turn that happens, if one does, and the outputs of all of them.
func (l *loop) chooseHandoff(ctx context.Context) (target *Handoff, outputs []Item, err error) {
	for _, c := range l.frame.calls {
		if c.State == callDone {
			continue
		}
		output := ToolOutput{Text: textSecondHandoff}
		if target == nil {
			if target, output, err = l.tryHandoff(ctx, c); err != nil {
				return nil, nil, err
			}
		}
		outputs = append(outputs, l.frame.outputOf(c, output))
	}
	return target, outputs, nil
}

// filtered returns what the agent that takes over is shown instead of the conversation, if the handoff has a filter.
func (l *loop) filtered(ctx context.Context, target *Handoff, outputs []Item) (shown []Item, err error) {
	if target == nil || target.Filter == nil {
		return nil, nil
	}
	all := slices.Concat(l.frame.visible(), outputs)
	err = l.consultOne(ctx, "filter of a handoff", target.Agent.Name, func() error {
		shown = target.Filter(all)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if shown, err = cleanShown(shown); err != nil {
		return nil, err
	}
	if err := l.state.checkRoom(shown); err != nil {
		return nil, fmt.Errorf("the filter returned too much: %w", err)
	}
	return shown, nil
}

// tryHandoff returns the handoff of the call, or nil when it does not happen, and what the model reads.
func (l *loop) tryHandoff(ctx context.Context, c *call) (*Handoff, ToolOutput, error) {
	tool := l.frame.tool(c)
	if tool == nil || tool.handoff == nil {
		return nil, ToolOutput{Text: unknownTool(l.frame.toolbox, c.Tool)}, nil
	}
	h := tool.handoff
	name, _ := json.Marshal(h.Agent.Name)
	output := ToolOutput{Text: `{"assistant":` + string(name) + `}`}
	if h.OnHandoff == nil {
		return h, output, nil
	}
	view := l.view(c)
	ask := func() error { return tool.handoff.OnHandoff(ctx, &view) }
	err := l.consult(ctx, []query{{"handoff", c.Tool, ask, func(err error) error {
		if err != nil {
			l.log.WarnContext(ctx, "handoff refused", "handoff", c.Tool)
			h, output = nil, ToolOutput{Text: "The conversation was not handed over: " + excerptLong(err.Error()) + "."}
		}
		return nil
	}}})
	return h, output, err
}

// cleanShown checks that what a filter leaves can be sent to a provider.
func cleanShown(shown []Item) ([]Item, error) {
	open := make(map[string]bool)
	for i := range shown {
		var err error
		if shown[i], err = cleanItem(shown[i]); err != nil {
			return nil, fmt.Errorf("item %d of the filter: %w", i, err)
		}
		it := &shown[i]
		switch {
		case it.IsCall():
			open[it.CallID] = true
		case it.IsOutput() && !open[it.CallID]:
			return nil, errUnpaired
		case it.IsOutput():
			delete(open, it.CallID)
		}
	}
	if len(open) > 0 {
		return nil, errUnpaired
	}
	return shown, nil
}
