package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// execution is one Run or Resume on its way. Everything but the calls themselves happens on the caller's goroutine.
type execution struct {
	*Runner
	state   *RunState
	agent   *Agent
	journal Journal
	log     *slog.Logger
	shared  *RunContext
	start   int // items that were there before
	delta   int // items that checkpoints have covered
}

// run goes on until the run is finished or waits for people.
func (x *execution) run(ctx context.Context) error {
	s := x.state
	for s.final == nil {
		if err := stopped(ctx); err != nil {
			return err
		}
		if !s.turnsLeft() {
			return fmt.Errorf("%w: %d", ErrMaxTurns, s.maxTurns)
		}
		fresh := len(s.calls) == 0
		if fresh {
			if err := x.turn(ctx); err != nil {
				return err
			}
		}
		if len(s.calls) == 0 || !s.turnsLeft() {
			if err := x.checkpoint(ctx); err != nil {
				return err
			}
			continue // the answer is there, or nothing more may happen
		}
		if err := x.settle(ctx, fresh); err != nil {
			return err
		}
		if len(s.calls) > 0 {
			break // every call that is left waits
		}
	}
	return x.save(ctx)
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
func (x *execution) turn(ctx context.Context) error {
	s := x.state
	x.log.DebugContext(ctx, "calling model", "turn", s.turn+1)
	resp, err := x.agent.Model.Respond(ctx, x.request())
	if err != nil {
		return fmt.Errorf("model call of turn %d: %w", s.turn+1, err)
	}
	if err := s.accept(x.agent, resp); err != nil {
		return fmt.Errorf("turn %d: %w", s.turn+1, err)
	}
	return nil
}

func (x *execution) request() *ModelRequest {
	a, s := x.agent, x.state
	req := &ModelRequest{
		Instructions: a.Instructions,
		Items:        slices.Clip(s.items),
		Tools:        make([]ToolDefinition, len(a.Tools)),
		Settings:     a.Settings,
	}
	for i := range a.Tools {
		req.Tools[i] = a.Tools[i].definition()
	}
	if forced := req.Settings.ToolChoice; len(s.ledger) > 0 && forced != "none" {
		req.Settings.ToolChoice = "" // forced once; a model that is forced for ever never answers
	}
	return req
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
		return fmt.Errorf("checkpoint of turn %d: %w", x.state.turn, err)
	}
	x.delta = len(x.state.items)
	return nil
}

// finish turns the state into what Run and Resume return.
func (x *execution) finish(err error) (*Result, error) {
	s := x.state
	result := &Result{State: s, NewItems: slices.Clone(s.items[x.start:])}
	if err != nil {
		return result, fmt.Errorf("run %s: %w", s.id, err)
	}
	result.Interruptions = s.Interruptions()
	result.FinalOutput = s.FinalOutput()
	return result, nil
}
