package openaimodel

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"countersign/agent"
)

// Model answers turns through the Responses API. It is safe for concurrent use.
type Model struct {
	cfg    Config
	client openai.Client
	server string // what errors call the server
	tools  toolCache
	// plain is set once the server has refused to encrypt reasoning, which models without reasoning do.
	plain atomic.Bool
}

var _ agent.Model = (*Model)(nil)

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
	return &Model{cfg: cfg, client: openai.NewClient(options...), server: serverName(cfg.BaseURL)}, nil
}

// Respond implements [agent.Model]. Its error is an [*Error], or the context's.
func (m *Model) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	if m.cfg.Streaming {
		return m.Stream(ctx, req, nil)
	}
	return m.retry(ctx, req, func(ctx context.Context, _ func()) (*agent.ModelResponse, *http.Response, error) {
		return m.exchange(ctx, req)
	})
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	// TextDelta carries the next piece of the answer's text, or of a refusal.
	TextDelta EventKind = "text_delta"
	// Restarted says that the stream broke and the answer begins anew: text delivered so far is void.
	Restarted EventKind = "restarted"
)

// Event is what a caller can show while an answer is being written.
type Event struct {
	Kind EventKind
	Text string
}

// Stream is Respond with an event stream, whatever Config.Streaming says: onEvent, which may be nil, is called from the
// caller's goroutine as the answer is being written. Only what Stream returns counts; events are for showing.
func (m *Model) Stream(ctx context.Context, req *agent.ModelRequest, onEvent func(Event)) (*agent.ModelResponse, error) {
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	shown := false
	show := func(e Event) {
		shown = true
		onEvent(e)
	}
	return m.retry(ctx, req, func(ctx context.Context, alive func()) (*agent.ModelResponse, *http.Response, error) {
		if shown {
			shown = false
			onEvent(Event{Kind: Restarted})
		}
		return m.stream(ctx, req, alive, show)
	})
}
