package openaimodel_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

// TestRefusalsAreTold has an application answer where the model refuses, in either API, whole and streamed. An answer
// that is no refusal is not taken for one.
func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file    string
		api     openaimodel.API
		refuses bool
	}{
		{"refusal.json", openaimodel.Responses, true},
		{"refusal.sse", openaimodel.Responses, true},
		{"chat_refusal.json", openaimodel.ChatCompletions, true},
		{"chat_refusal.sse", openaimodel.ChatCompletions, true},
		{"text.sse", openaimodel.Responses, false},
		{"chat_text.json", openaimodel.ChatCompletions, false},
	} {
		stream := tt.file[len(tt.file)-4:] == ".sse"
		contentType := map[bool]string{false: "application/json", true: "text/event-stream"}[stream]
		model := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			return answer(200, recorded(t, tt.file), "Content-Type", contentType), nil
		}), func(c *openaimodel.Config) { c.Streaming, c.API = stream, tt.api })
		o := agent.RunOptions{OnError: func(_ context.Context, f *agent.Failure) (*agent.Fallback, error) {
			if !errors.Is(f.Err, agent.ErrRefusal) || f.Answer == "" {
				t.Errorf("%s: %v, %q", tt.file, f.Err, f.Answer)
			}
			return &agent.Fallback{Text: "Ask a person."}, nil
		}}
		var runner agent.Runner
		a := &agent.Agent{Name: "ops", Model: model}
		res, err := runner.Run(t.Context(), a, []agent.Item{agent.UserMessage("x")}, o)
		if err != nil {
			t.Fatalf("%s: %v", tt.file, err)
		}
		handled := errors.Is(res.Handled, agent.ErrRefusal)
		if refused := res.FinalOutput == "Ask a person."; refused != tt.refuses || handled != tt.refuses {
			t.Errorf("%s: final output %q, handled %v", tt.file, res.FinalOutput, res.Handled)
		}
	}
}
