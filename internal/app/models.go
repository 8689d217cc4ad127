package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"time"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/agentsfile"
)

// modelMaker makes the model of an agent.
type modelMaker func(*agentsfile.Agent) (agent.Model, error)

// models makes the models of all agents over one pool of connections.
type models struct {
	cfg     *Config
	log     *slog.Logger
	metrics *metrics
	http    *http.Client
}

func newModels(cfg *Config, log *slog.Logger, m *metrics) *models {
	client := &http.Client{}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 128
		client.Transport = t
	}
	return &models{cfg: cfg, log: log, metrics: m, http: client}
}

func (m *models) model(a *agentsfile.Agent) (agent.Model, error) {
	model, err := openaimodel.New(openaimodel.Config{
		Model: a.Model.Value, API: openaimodel.API(a.API), BaseURL: m.cfg.OpenAIBaseURL, APIKey: m.cfg.OpenAIKey.Reveal(), HTTPClient: m.http,
		Streaming: true, Logger: m.log,
		OnRetry: func(int, time.Duration, error) { m.metrics.modelRetries.Inc() },
	})
	if err != nil {
		return nil, err
	}
	return measuredModel{model, m.metrics}, nil
}

// noModel stands in where no run is executed.
type noModel struct{}

var errNoModel = errors.New("this command runs no agents")

// Respond is part of agent.Model.
func (noModel) Respond(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error) {
	return nil, errNoModel
}

func withoutModel(*agentsfile.Agent) (agent.Model, error) { return noModel{}, nil }

func lookupEnv(name string) (string, bool) { return os.LookupEnv(name) }

// explainFile adds to an error of reading the agents file what to do about it.
func explainFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; COUNTERSIGN_AGENTS says where it is, examples/countersign.yaml is one to start from", err)
	}
	return err
}
