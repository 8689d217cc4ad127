package agent_test

import (
	"context"

	"countersign/agent"
)

// runs is a Runner with the options of its runs, for tests that hand both on.
type runs struct {
	agent.Runner
	agent.RunOptions
}

func (r *runs) Run(ctx context.Context, a *agent.Agent, input ...agent.Item) (*agent.Result, error) {
	return r.Runner.Run(ctx, a, input, r.RunOptions)
}

func (r *runs) Resume(ctx context.Context, a *agent.Agent, s *agent.RunState) (*agent.Result, error) {
	return r.Runner.Resume(ctx, a, s, r.RunOptions)
}

// runOf returns the options of a run with the id.
func runOf(id string) agent.RunOptions {
	return agent.RunOptions{Context: &agent.RunContext{ID: id}}
}
