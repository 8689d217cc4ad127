package openaimodel_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

// capture keeps the last request.
type capture struct {
	answer string // empty: an empty response
	header http.Header
	url    string
	body   string
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	c.header, c.url, c.body = r.Header, r.URL.String(), string(data)
	return answer(200, cmp.Or(c.answer, completed)), err
}

func ptr[T any](v T) *T { return &v }

// The whole body as it goes over the wire: items of the provider byte for byte, in order; schemas as written.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	odd := `{ "type" : "telepathy_call", "id":"tp_1",` + "\n\t" + `"n": 1.50e+02, "html":"<a href=\"x\">&</a>", ` +
		`"esc":"\u00fc\/` + "\u2028" + `" }`
	reasoning := `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA+/=","summary":[]}`
	call := `{"id":"fc_1","type":"function_call","status":"completed",` +
		`"arguments":"{\"a\": 1}","call_id":"call_1","name":"pay"}`
	items := []agent.Item{agent.UserMessage("Grüße <b>")}
	for _, raw := range []string{reasoning, odd, call} {
		it, err := agent.ParseItem(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	items = append(items, agent.CallOutput("call_1", `{"ok":true}`))
	schema := `{ "type":"object", "properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false }`
	req := &agent.ModelRequest{
		Instructions: "Be <brief> & kind.",
		Items:        items,
		Tools: []agent.ToolDefinition{
			{Name: "pay", Description: "Pays.", Parameters: json.RawMessage(schema)},
			{Name: "open", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)},
			{Name: "none"},
		},
		Settings: agent.ModelSettings{
			Temperature: ptr(0.0), MaxOutputTokens: 512, ReasoningEffort: "low", ToolChoice: "pay",
			ParallelToolCalls: ptr(false),
		},
	}
	var c capture
	if _, err := newModel(t, &c, nil).Respond(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],` +
		`"instructions":"Be <brief> & kind.","temperature":0,"max_output_tokens":512,"reasoning":{"effort":"low"},` +
		`"tool_choice":{"type":"function","name":"pay"},"parallel_tool_calls":false,` +
		`"tools":[{"type":"function","name":"pay","description":"Pays.","strict":true,"parameters":` + schema + `},` +
		`{"type":"function","name":"open","strict":false,"parameters":{"type":"object","properties":{"a":{}}}},` +
		`{"type":"function","name":"none","strict":true,` +
		`"parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false}}],` +
		`"input":[{"type":"message","role":"user","content":"Grüße <b>"},` + reasoning + `,` + odd + `,` + call + `,` +
		`{"type":"function_call_output","call_id":"call_1","output":"{\"ok\":true}"}]}`
	if c.body != want {
		t.Errorf("got\n%s\nwant\n%s", c.body, want)
	}
	if c.url != "https://api.openai.com/v1/responses" || c.header.Get("Authorization") != "Bearer "+testKey ||
		c.header.Get("Content-Type") != "application/json" {
		t.Errorf("url %s, header %v", c.url, c.header)
	}
}

func TestSettingsLeftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why, want string
		req       agent.ModelRequest
		stream    bool
	}{
		{"nothing set", `{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],"input":[]}`,
			agent.ModelRequest{}, false},
		{"streaming",
			`{"model":"gpt-5.2","store":false,"stream":true,"include":["reasoning.encrypted_content"],"input":[]}`,
			agent.ModelRequest{}, true},
		{
			"settings for tools without tools",
			`{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],"input":[]}`,
			agent.ModelRequest{Settings: agent.ModelSettings{ToolChoice: "required", ParallelToolCalls: ptr(true)}},
			false,
		},
		{
			"tool choice in words",
			`{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],"tool_choice":"required",` +
				`"tools":[{"type":"function","name":"t","strict":false,"parameters":{}}],"input":[]}`,
			agent.ModelRequest{
				Settings: agent.ModelSettings{ToolChoice: "required"},
				Tools:    []agent.ToolDefinition{{Name: "t", Parameters: json.RawMessage(`{}`)}},
			}, false,
		},
	} {
		var c capture
		m := newModel(t, &c, func(cfg *openaimodel.Config) { cfg.Streaming = tt.stream })
		if _, err := m.Respond(t.Context(), &tt.req); err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		if c.body != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.why, c.body, tt.want)
		}
	}
}

// A key for the administration of an account, when one is in the environment, stays out of it.
func TestOnlyTheConfiguredKeyIsSent(t *testing.T) {
	t.Setenv("OPENAI_ADMIN_KEY", "sk-admin-secret")
	t.Setenv("OPENAI_API_KEY", "sk-other")
	var c capture
	if _, err := newModel(t, &c, nil).Respond(t.Context(), &agent.ModelRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := c.header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+testKey {
		t.Errorf("Authorization %q", got)
	}
}

func TestBrokenSchemaIsNotSent(t *testing.T) {
	t.Parallel()
	m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return answer(500, ""), nil
	}), func(c *openaimodel.Config) { c.MaxAttempts = 3 })
	bad := agent.ToolDefinition{Name: "bad", Parameters: json.RawMessage(`{"type":`)}
	_, err := m.Respond(t.Context(), &agent.ModelRequest{Tools: []agent.ToolDefinition{bad}})
	if err == nil || !strings.Contains(err.Error(), "tool bad") {
		t.Errorf("got %v", err)
	}
}

// Models that do not reason refuse to encrypt their reasoning. The model asks again without, and remembers.
func TestEncryptionRefused(t *testing.T) {
	t.Parallel()
	var bodies []string
	m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		if strings.Contains(string(data), "reasoning.encrypted_content") {
			return answer(400, `{"error":{"message":"Encrypted content is not supported with this model.",`+
				`"type":"invalid_request_error","param":"include","code":null}}`), nil
		}
		return answer(200, `{"id":"r","status":"completed","output":[]}`), nil
	}), nil)
	for range 2 {
		if _, err := m.Respond(t.Context(), &agent.ModelRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 3 || strings.Contains(bodies[2], "include") {
		t.Errorf("requests %q", bodies)
	}
}
