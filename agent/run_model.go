package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// turn calls the model and takes its answer into the state. Nothing of it has been asked or run. The model is not
// called where people have to be asked first about a call that the provider would be told to carry out.
func (l *loop) turn(ctx context.Context) (waits bool, err error) {
	f := l.frame
	select {
	case <-l.Stop:
		return false, ErrStopped
	default:
	}
	if err := l.look(ctx); err != nil {
		return false, err
	}
	if !f.onlyProviderLeft() { // what is added comes behind the outputs of the calls
		if err := l.admit(ctx); err != nil { // from here on, added input cannot be taken back
			return false, err
		}
	}
	if err := l.shorten(ctx); err != nil {
		return false, err
	}
	if waits, err := l.inform(ctx); waits || err != nil {
		return waits, err
	}
	l.log.DebugContext(ctx, "calling model", "turn", f.turn+1)
	req := l.request()
	var resp *ModelResponse
	l.unlocked(func() { resp, err = l.respond(ctx, req) })
	if errors.Is(err, ErrNotTaken) || errors.Is(err, ErrConversationGone) {
		l.notTaken()
	}
	if err != nil {
		return false, fmt.Errorf("model call of turn %d: %w", f.turn+1, err)
	}
	before := len(f.items)
	// An answer that holds nothing new leaves the approvals at the end, and the provider would be told once more.
	repeated, err := f.accept(resp, l.idle || len(l.told) > 0, l.keepApprovals)
	if err != nil {
		err = fmt.Errorf("turn %d: %w", f.turn+1, err)
		if resp != nil { // what it says of calls has happened
			if failed := l.confirm(ctx, resp); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		return false, err
	}
	l.idle = len(f.items) == before
	if len(repeated) > 0 {
		l.log.WarnContext(ctx, "the model repeated calls that have their outputs; they were left out", "turn", f.turn,
			"calls", len(repeated), "first", excerpt(repeated[0].CallID))
	}
	l.acknowledge(resp)
	if l.events != nil {
		l.emitItems(f.path(), before)
	}
	return false, l.confirm(ctx, resp)
}

// look finds out what the agent can call now.
func (l *loop) look(ctx context.Context) error {
	var tools *toolbox
	var err error
	if l.agent.Toolsets == nil && l.frame.toolbox != nil {
		return nil
	}
	l.unlocked(func() { tools, err = l.agent.allTools(ctx) })
	if err == nil {
		l.frame.toolbox = tools
	}
	return err
}

// respond calls the model, without the lock.
func (l *loop) respond(ctx context.Context, req *ModelRequest) (resp *ModelResponse, err error) {
	l.hook(ctx, func(h *Hooks) {
		if (l.begins || l.frame.turn == 0) && h.AgentStart != nil {
			h.AgentStart(ctx, l.agent)
		}
	})
	l.hook(ctx, func(h *Hooks) {
		if h.ModelStart != nil {
			h.ModelStart(ctx, l.agent, req)
		}
	})
	model := l.agent.Model
	if l.ModelOf != nil {
		model = l.ModelOf(l.agent)
	}
	resp, err = l.traceModel(ctx, model, req)
	l.begins = false
	if err == nil && resp != nil {
		l.hook(ctx, func(h *Hooks) {
			if h.ModelEnd != nil {
				h.ModelEnd(ctx, l.agent, resp)
			}
		})
	}
	return resp, err
}

// callModel calls a model, as a stream where somebody follows the run.
func (l *loop) callModel(ctx context.Context, model Model, req *ModelRequest) (*ModelResponse, error) {
	streaming, ok := model.(StreamModel)
	if l.events == nil || !ok {
		return model.Respond(ctx, req)
	}
	path := l.frame.path()
	return streaming.RespondStream(ctx, req, func(d ModelDelta) bool {
		l.tell(ModelText{Path: path, ModelDelta: d})
		return ctx.Err() == nil
	})
}

// behind returns the items with more behind them. Whoever appends to it writes into neither.
func behind(items, more []Item) []Item {
	if len(more) == 0 {
		return slices.Clip(items)
	}
	return slices.Clip(slices.Concat(items, more))
}

func (l *loop) request() *ModelRequest {
	a, f := l.agent, l.frame
	approvals := l.approvals()
	req := &ModelRequest{
		Instructions: a.Instructions,
		Items:        behind(f.visible(), approvals),
		HiddenCalls:  f.hiddenCalls(),
		Tools:        f.tools().definitions(),
		Settings:     a.Settings,
		Output:       a.Output,
	}
	if forced := req.Settings.ToolChoice; !a.KeepToolChoice && forced != "none" && f.hasCalled(a.Name) {
		req.Settings.ToolChoice = "" // forced once; a model that is forced for ever never answers
	}
	if f.parent == nil {
		l.state.server.address(req, f.items, approvals)
	}
	return req
}
