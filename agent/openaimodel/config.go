package openaimodel

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"countersign/agent"
)

// Defaults of a Config.
const (
	DefaultBaseURL     = "https://api.openai.com/v1"
	DefaultTimeout     = 90 * time.Second
	DefaultBudget      = 2 * time.Minute
	DefaultMaxAttempts = 8
)

// API is one of the ways to talk to a model.
type API string

// The APIs, in the words of the agents file.
const (
	Responses       API = "responses"
	ChatCompletions API = "chat_completions"
)

// Config says which model is asked and how patiently.
type Config struct {
	// Model is the provider's name of the model, for instance "gpt-5.2". It must not be empty.
	Model string
	// API is what the server speaks; Responses when empty.
	API API
	// BaseURL is where the API is; empty means OPENAI_BASE_URL, or OpenAI when that is empty too.
	BaseURL string
	// APIKey is the key; empty means OPENAI_API_KEY. OpenAI needs one, other servers may not.
	APIKey string
	// ReasoningSummary asks a model that reasons for summaries of it: "auto", "concise" or "detailed". Empty: none.
	// Models that do not reason refuse it. Only for Responses.
	ReasoningSummary string
	// HTTPClient makes the requests. Nil means one with a connection pool of its own; several models of one program do
	// better with a shared one.
	HTTPClient *http.Client
	// Streaming makes Respond use an event stream, as RespondStream does. A slow answer then is not mistaken for a dead
	// connection, because Timeout bounds its silences instead of its length.
	Streaming bool
	// Timeout bounds one attempt: without streaming from the request to the end of the answer, with streaming each
	// silence of the server.
	Timeout time.Duration
	// Budget bounds the attempts together, waits included: past it no attempt is started, and none without streaming
	// goes on.
	Budget time.Duration
	// MaxAttempts bounds the attempts.
	MaxAttempts int
	// Logger receives a warning for each attempt that failed. Nil: none.
	Logger *slog.Logger
	// OnRetry, if set, is called before the wait that follows a failed attempt; attempts count from 1.
	OnRetry func(attempt int, wait time.Duration, err error)
}

// withDefaults fills in what the environment and this package provide, and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.Model == "" {
		return c, fmt.Errorf("%w: openai model: Model is empty", agent.ErrConfig)
	}
	c.API = cmp.Or(c.API, Responses)
	if c.API != Responses && c.API != ChatCompletions {
		return c, fmt.Errorf("%w: openai model: API %q is not known; use %s or %s",
			agent.ErrConfig, c.API, Responses, ChatCompletions)
	}
	if c.ReasoningSummary != "" && c.API != Responses {
		return c, fmt.Errorf("%w: openai model: ReasoningSummary needs the API %s", agent.ErrConfig, Responses)
	}
	base := cmp.Or(c.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultBaseURL)
	c.APIKey = cmp.Or(c.APIKey, os.Getenv("OPENAI_API_KEY"))
	if err := checkBaseURL(base); err != nil {
		return c, err
	}
	c.BaseURL = strings.TrimRight(base, "/") + "/"
	if c.APIKey == "" && c.BaseURL == DefaultBaseURL+"/" {
		return c, fmt.Errorf("%w: no key for OpenAI; set OPENAI_API_KEY", agent.ErrConfig)
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return c, fmt.Errorf(
			"%w: the key for OpenAI has spaces or other characters no key has; check OPENAI_API_KEY", agent.ErrConfig)
	}
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	c.Budget = cmp.Or(max(c.Budget, 0), DefaultBudget)
	c.MaxAttempts = cmp.Or(max(c.MaxAttempts, 0), DefaultMaxAttempts)
	if c.HTTPClient == nil {
		c.HTTPClient = newHTTPClient()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// checkBaseURL never repeats the URL: a password may be in it.
func checkBaseURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf(
			"%w: the base URL of the model API is no http or https URL; check OPENAI_BASE_URL", agent.ErrConfig)
	case u.User != nil:
		return fmt.Errorf(
			"%w: the base URL of the model API has a user in it; put the key into OPENAI_API_KEY", agent.ErrConfig)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf(
			"%w: the base URL of the model API has a query or a fragment; check OPENAI_BASE_URL", agent.ErrConfig)
	}
	return nil
}

// newHTTPClient keeps as many idle connections as runs are likely to be under way; the default is two.
func newHTTPClient() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // replaced by the program, for instance for tracing
		return &http.Client{Transport: http.DefaultTransport}
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 128
	return &http.Client{Transport: t}
}
