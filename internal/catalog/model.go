package catalog

import (
	"context"
	"errors"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

// NoModel stands in where no agent is run. See Config.
func NoModel(*agentsfile.Agent) (agent.Model, error) { return noModel{}, nil }

type noModel struct{}

var errNoModel = errors.New("this command runs no agents")

// Respond is part of agent.Model.
func (noModel) Respond(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error) {
	return nil, errNoModel
}
