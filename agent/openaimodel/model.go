package openaimodel

import (
	"context"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
)

// Model answers turns through one of OpenAI's APIs. It is safe for concurrent use.
type Model struct {
	cfg    Config
	client responses.ResponseService
	server string // what errors call the server
	api    protocol
}

var _ agent.StreamModel = (*Model)(nil)

// New returns a model. It makes no request; its error wraps [agent.ErrConfig] and says what to change.
func New(cfg Config) (*Model, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	m := &Model{cfg: cfg, client: responses.NewResponseService(options...), server: serverName(cfg.BaseURL)}
	switch cfg.API {
	case ChatCompletions:
		m.api = &chat{model: cfg.Model}
	default:
		m.api = &responsesAPI{model: cfg.Model, summary: cfg.ReasoningSummary}
	}
	return m, nil
}

// Respond implements [agent.Model]. Its error is an [*Error], or the context's.
func (m *Model) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	return m.ask(ctx, req, m.cfg.Streaming, new(listener))
}

// RespondStream implements [agent.StreamModel]. Its error is an [*Error], or the context's. Refusals are text like any
// other. A server that does not stream gives its text in one piece.
func (m *Model) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	return m.ask(ctx, req, true, &listener{emit: emit})
}

// ModelName says for traces which model it is; see [agent.Model]. The provider is "openai" whoever runs the server: it
// says whose API is spoken.
func (m *Model) ModelName() (provider, model string) { return "openai", m.cfg.Model }
