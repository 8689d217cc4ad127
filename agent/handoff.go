package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Handoff lets an agent hand the conversation over to another. To the model it is a tool without side effects; nobody
// is asked about it. When a response holds other calls too, those are settled first, with every approval they need. Of
// several handoffs in one response only the first happens.
type Handoff struct {
	// Agent takes over. It must not be nil.
	Agent *Agent
	// Name is what the model calls the handoff. Empty: "transfer_to_" and the agent's name.
	Name string
	// Description tells the model when to hand over. Empty: made from the agent's name.
	Description string
	// Parameters is the JSON Schema of what the model says with the handoff, for instance a reason; empty: nothing.
	// Validate checks it, and must be set with Parameters.
	Parameters json.RawMessage
	Validate   func(json.RawMessage) error
	// OnHandoff, if set, is called before the other agent takes over; its error is told to the model, and nothing is handed
	// over. After a crash it may be called again.
	OnHandoff func(ctx context.Context, call *ToolCall) error
	// Filter, if set, chooses what the other agent sees of the conversation so far. It gets a copy that ends with the
	// handoff's call and output, and returns what to show; every call in it needs its output. The conversation itself, as
	// sessions keep it, does not change. See DropToolItems and Transcript.
	Filter func(items []Item) []Item
}

var (
	errNoAgent     = errors.New("it has no Agent")
	errNoValidator = errors.New("its Parameters need Validate")
	errUnpaired    = errors.New("the filter returned a call without its output, or an output without its call")
)

// textSecondHandoff is what the model reads about a handoff that came too late.
const textSecondHandoff = "The conversation was handed over by an earlier call of the same response; this call was ignored."

func (h *Handoff) name() string {
	if h.Name != "" {
		return h.Name
	}
	return "transfer_to_" + strings.Map(func(c rune) rune {
		if c < 128 && validToolName(string(c)) {
			return c
		}
		return '_'
	}, h.Agent.Name)
}

func (h *Handoff) check() error {
	switch {
	case h.Agent == nil:
		return errNoAgent
	case len(h.Parameters) > 0 && h.Validate == nil:
		return errNoValidator
	}
	return h.tool().check()
}

// tool returns the handoff as the model sees it.
func (h *Handoff) tool() *Tool {
	t := &Tool{Name: h.name(), Description: h.Description, Kind: KindHandoff, Parameters: h.Parameters, Validate: h.Validate, handoff: h}
	if t.Description == "" {
		t.Description = "Hand the conversation over to the agent " + h.Agent.Name + "."
	}
	return t
}

// handOver carries out the handoffs of a turn whose other calls all have their outputs.
func (l *loop) handOver(ctx context.Context) error {
	f := l.frame
	var target *Handoff
	var outputs []Item
	for _, c := range f.calls {
		if c.State == callDone {
			continue
		}
		output := ToolOutput{Text: textSecondHandoff}
		if target == nil {
			var err error
			if target, output, err = l.tryHandoff(ctx, c); err != nil {
				return err
			}
		}
		outputs = append(outputs, f.outputOf(c, output))
	}
	var shown []Item
	if target != nil && target.Filter != nil {
		all := slices.Concat(f.visible(), outputs)
		err := l.ask(ctx, "filter of a handoff", target.Agent.Name, func() error {
			shown = target.Filter(all)
			return nil
		})
		if err == nil {
			shown, err = cleanShown(shown)
		}
		if err != nil {
			return fmt.Errorf("handoff to %q: %w", target.Agent.Name, err)
		}
	}
	for _, it := range outputs {
		f.append(it)
		l.emit(ItemAdded{Path: f.path(), Item: it})
	}
	f.calls = nil
	if target != nil {
		from := l.agent
		f.handTo(target, shown)
		l.agent = l.state.graph[target.Agent.Name]
		l.begins = true
		l.log = l.base.With("run", l.state.id, "agent", l.agent.Name)
		l.emit(HandedOff{Path: f.path(), From: from.Name, To: l.agent.Name})
		l.unlocked(func() {
			l.hook(ctx, func(h *Hooks) {
				if h.Handoff != nil {
					h.Handoff(ctx, from, l.agent)
				}
			})
		})
	}
	return l.checkpoint(ctx)
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
	err := l.consult(ctx, []query{{"handoff", c.Tool, func() error { return h.OnHandoff(ctx, &view) }, func(err error) error {
		if err != nil {
			l.log.WarnContext(ctx, "handoff refused", "handoff", c.Tool)
			h, output = nil, ToolOutput{Text: "The conversation was not handed over: " + excerptLong(err.Error()) + "."}
		}
		return nil
	}}})
	return h, output, err
}

// handTo makes the handoff's agent the one whose turn it is, and has it see what the filter showed, if there is one.
func (f *frame) handTo(h *Handoff, shown []Item) {
	f.agent, f.toolbox = h.Agent.Name, nil
	if h.Filter == nil {
		return
	}
	f.leftOut = nil
	f.copies = append(f.copies, span{From: len(f.items), To: len(f.items) + len(shown)})
	for _, it := range shown {
		f.appendCopy(it)
	}
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
		case it.isCall():
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

// DropToolItems is a Handoff.Filter that leaves messages only.
func DropToolItems(items []Item) []Item {
	return slices.DeleteFunc(items, func(it Item) bool { return it.Type != ItemMessage })
}

// Transcript is a Handoff.Filter that shows the conversation so far as one message, so that the other agent reads it
// as a report and not as its own words.
func Transcript(items []Item) []Item {
	var b strings.Builder
	b.WriteString("The conversation so far, before it was handed over to you:\n")
	for i := range items {
		switch it := &items[i]; {
		case it.Type == ItemMessage:
			fmt.Fprintf(&b, "\n%s: %s", it.Role, it.Text)
		case it.isCall():
			fmt.Fprintf(&b, "\ncalled %s: %s", it.Name, it.Arguments)
		case it.IsOutput():
			fmt.Fprintf(&b, "\nresult: %s", it.Output)
		}
	}
	return []Item{UserMessage(b.String())}
}
