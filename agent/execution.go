package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// execution is one Run or Resume on its way.
//
// Agents that are used as tools work side by side, each in a loop of its own, and all of them change one state. Whoever
// works on the state holds its lock, and lets go of it (outside) for everything that is not the state's own business:
// models, tools, gates, guardrails, hooks, journals. Checkpoints are taken under the lock, so they are consistent, and
// one at a time.
type execution struct {
	*Runner
	RunOptions
	state   *RunState
	journal Journal
	base    *slog.Logger
	shared  *RunContext
	first   int // items of the run's own conversation that were there before
	delta   int // items that checkpoints have covered
	events  func(Event)
	touched touching

	guardrails       []GuardrailResult // what guardrails said in this execution; under the state's lock
	checkpointFailed bool
}

// loop runs one conversation of an execution.
type loop struct {
	*execution
	frame  *frame
	agent  *Agent // whose turn it is
	begins bool   // it has just taken over
	log    *slog.Logger
}

func (x *execution) loop(f *frame) *loop {
	return &loop{execution: x, frame: f, agent: x.state.graph[f.agent], log: x.base.With("run", x.state.id, "agent", f.agent)}
}

// outside calls fn while others may work on the state.
func (x *execution) outside(fn func()) {
	x.state.mu.Unlock()
	defer x.state.mu.Lock()
	fn()
}

// emit hands an event to whoever streams the run.
func (x *execution) emit(e Event) {
	if x.events != nil {
		x.events(e)
	}
}

// hook calls one of the application's hooks. Their panics change nothing.
func (l *loop) hook(ctx context.Context, fn func(*Hooks)) {
	if l.Hooks == nil {
		return
	}
	_ = l.safely(ctx, "hook", l.agent.Name, func() error {
		fn(l.Hooks)
		return nil
	})
}

// run goes on until the conversation has its answer or waits for people.
func (l *loop) run(ctx context.Context) error {
	f := l.frame
	for f.final == nil {
		if err := stopped(ctx); err != nil {
			return err
		}
		if f.answer != nil {
			if err := l.conclude(ctx); err != nil {
				return err
			}
			continue
		}
		if len(f.calls) > 0 && f.done() { // a crash came between the last output and what follows from it
			if err := l.endTurn(ctx); err != nil {
				return err
			}
			continue
		}
		fresh := len(f.calls) == 0
		if !f.turnsLeft() && (fresh || !l.agent.ToolUse.mayEnd(f.calls)) {
			return fmt.Errorf("%w: %d", ErrMaxTurns, f.maxTurns)
		}
		if fresh {
			if err := l.turn(ctx); err != nil {
				return err
			}
			if f.answer != nil && len(l.agent.OutputGuardrails) == 0 {
				continue
			}
			if len(f.calls) == 0 || !f.turnsLeft() && !l.agent.ToolUse.mayEnd(f.calls) {
				if err := l.checkpoint(ctx); err != nil {
					return err
				}
				continue // the answer is there, or nothing more may happen
			}
		}
		if waits, err := l.work(ctx, fresh); err != nil || waits {
			return err
		}
	}
	return nil
}

// work settles the calls of a turn and what follows from them, as far as people have decided. It reports whether the
// conversation waits.
func (l *loop) work(ctx context.Context, fresh bool) (waits bool, err error) {
	f := l.frame
	if err := l.settle(ctx, fresh); err != nil {
		return false, err
	}
	switch {
	case f.waits():
		return len(f.questions(nil, unanswered)) > 0, nil // an answer may have been recorded meanwhile
	case !f.done(): // only handoffs are left
		return false, l.handOver(ctx)
	}
	return false, l.endTurn(ctx)
}

// stopped returns why the context has ended, if it has: both that it has and the cause.
func stopped(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// turn calls the model and takes its answer into the state. Nothing of it has been asked or run.
func (l *loop) turn(ctx context.Context) error {
	f := l.frame
	if err := l.admit(ctx); err != nil {
		return err
	}
	select {
	case <-l.Stop:
		return ErrStopped
	default:
	}
	if err := l.look(ctx); err != nil {
		return err
	}
	l.log.DebugContext(ctx, "calling model", "turn", f.turn+1)
	req := l.request()
	var resp *ModelResponse
	var err error
	l.outside(func() { resp, err = l.respond(ctx, req) })
	if err != nil {
		return fmt.Errorf("model call of turn %d: %w", f.turn+1, err)
	}
	before := len(f.items)
	if err := f.accept(resp); err != nil {
		return fmt.Errorf("turn %d: %w", f.turn+1, err)
	}
	l.acknowledge(resp)
	for _, it := range f.items[before:] {
		l.emit(ItemAdded{Path: f.path(), Item: it})
	}
	return nil
}

// look finds out what the agent can call now.
func (l *loop) look(ctx context.Context) error {
	var box *toolbox
	var err error
	if l.agent.Toolsets == nil && l.frame.box != nil {
		return nil
	}
	l.outside(func() { box, err = l.agent.allTools(ctx) })
	if err == nil {
		l.frame.box = box
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
	streaming, ok := model.(StreamModel)
	if l.events == nil || !ok {
		resp, err = model.Respond(ctx, req)
	} else {
		path := l.frame.path()
		resp, err = streaming.RespondStream(ctx, req, func(d ModelDelta) bool {
			l.emit(ModelText{Path: path, ModelDelta: d})
			return ctx.Err() == nil
		})
	}
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

func (l *loop) request() *ModelRequest {
	a, f := l.agent, l.frame
	req := &ModelRequest{
		Instructions: a.Instructions,
		Items:        slices.Clip(f.visible()),
		Tools:        f.tools().definitions(),
		Settings:     a.Settings,
		Output:       a.Output,
	}
	if forced := req.Settings.ToolChoice; !a.KeepToolChoice && forced != "none" && f.hasCalled(a.Name) {
		req.Settings.ToolChoice = "" // forced once; a model that is forced for ever never answers
	}
	if f.parent == nil {
		l.state.server.address(req, f.items)
	}
	return req
}

// hasCalled reports whether the agent has made a call in this conversation.
func (f *frame) hasCalled(agent string) bool {
	if f.entry == f.agent {
		return len(f.ledger) > 0
	}
	for _, e := range f.ledger {
		if f.items[e.item].Agent == agent {
			return true
		}
	}
	return false
}

// conclude checks an answer and ends the conversation with it.
func (l *loop) conclude(ctx context.Context) error {
	f := l.frame
	if err := l.guardAnswer(ctx, *f.answer); err != nil {
		return err
	}
	f.final, f.answer = f.answer, nil
	l.outside(func() {
		l.hook(ctx, func(h *Hooks) {
			if h.AgentEnd != nil {
				h.AgentEnd(ctx, l.agent, *f.final)
			}
		})
	})
	return l.checkpoint(ctx)
}

// checkpoint hands out what changed since the last one.
func (x *execution) checkpoint(ctx context.Context) error {
	if x.Checkpoint == nil {
		return nil
	}
	d, err := x.state.Delta(x.delta)
	if err != nil {
		return err
	}
	if err := x.Checkpoint(ctx, d); err != nil {
		x.checkpointFailed = true
		return fmt.Errorf("checkpoint of turn %d: %w", x.state.frame.turn, err)
	}
	x.delta = len(x.state.log)
	return nil
}

// finish turns the state into what Run and Resume return.
func (x *execution) finish(err error) (*Result, error) {
	s := x.state
	result := &Result{State: s, Interruptions: s.Undecided(), NewItems: slices.Clone(s.frame.own(x.first))}
	result.GuardrailResults = x.guardrails
	if err != nil {
		return result, fmt.Errorf("run %s: %w", s.id, err)
	}
	result.FinalOutput = s.FinalOutput()
	return result, nil
}

// graver returns the errors of two calls as one. What is no answer for an agent must not hide behind what is.
func graver(a, b error) error {
	switch {
	case a != nil && b != nil && told(a) && !told(b):
		return b
	case a != nil && b != nil && told(b) && !told(a):
		return a
	}
	return errors.Join(a, b)
}

// told reports whether the error of an agent used as a tool is an answer for the agent that used it: it has done
// nothing wrong itself, and can go on.
func told(err error) bool {
	return errors.Is(err, ErrMaxTurns) || errors.Is(err, ErrModelBehavior) || errors.Is(err, ErrTripwire)
}
