package app

import (
	"log/slog"
	"net/http"
	"time"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/agentsfile"
)

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

// model makes the model of an agent.
func (m *models) model(a *agentsfile.Agent) (agent.Model, error) {
	model, err := openaimodel.New(openaimodel.Config{
		Model: a.Model.Value, API: openaimodel.API(a.API),
		BaseURL: m.cfg.OpenAIBaseURL, APIKey: m.cfg.OpenAIKey.Reveal(), HTTPClient: m.http,
		Streaming: true, Logger: m.log,
		OnRetry: func(int, time.Duration, error) { m.metrics.modelRetries.Inc() },
	})
	if err != nil {
		return nil, err
	}
	return measuredModel{model, m.metrics}, nil
}
