package agent_test

import (
	"context"
	"errors"
	"sync"

	"countersign/agent"
)

// faultyJournal keeps effects for ever and answers the next intent as it is told.
type faultyJournal struct {
	next string
	mu   sync.Mutex
	log  map[string]record
}

func (j *faultyJournal) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch next := j.next; next {
	case "second-stale": // the one after it
		j.next = "stale"
	case "unknown", "stale", "error":
		j.next = ""
		return agent.Prior{}, map[string]error{
			"unknown": agent.ErrOutcomeUnknown, "stale": agent.ErrStale, "error": errors.New("disk full"),
		}[next]
	}
	if j.log == nil {
		j.log = make(map[string]record)
	}
	known, begun := j.log[e.ID]
	switch {
	case known.output != nil:
		return agent.Prior{Output: known.output}, nil
	case begun && !e.Idempotent && !(e.Retry && e.Attempt > known.attempt):
		return agent.Prior{}, agent.ErrOutcomeUnknown
	}
	j.log[e.ID] = record{attempt: e.Attempt}
	return agent.Prior{Begun: begun}, nil
}

func (j *faultyJournal) Done(ctx context.Context, e agent.Effect, out agent.ToolOutput) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if j.next == "done-error" {
		j.next = ""
		return errors.New("disk full")
	}
	j.log[e.ID] = record{output: &out}
	return nil
}
