package openaimodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

const testKey = "sk-proj-0123456789abcdefSECRET"

// roundTripper is a network in memory: it works inside a synctest bubble.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return f(r)
}

// answer is an HTTP response made of its parts; headers come in pairs.
func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"req_test"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

func newModel(t testing.TB, rt http.RoundTripper, change func(*openaimodel.Config)) *openaimodel.Model {
	t.Helper()
	cfg := openaimodel.Config{
		Model: "gpt-5.2", BaseURL: openaimodel.DefaultBaseURL, APIKey: testKey,
		HTTPClient: &http.Client{Transport: rt}, MaxAttempts: 1,
	}
	if change != nil {
		change(&cfg)
	}
	m, err := openaimodel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// replay answers every request with a file of testdata.
func replay(t testing.TB, name string) http.RoundTripper {
	body := recorded(t, name)
	return roundTripper(func(*http.Request) (*http.Response, error) { return answerFile(name, body), nil })
}

// reply gives every request the same answer.
func reply(status int, body string, header ...string) http.RoundTripper {
	return roundTripper(func(*http.Request) (*http.Response, error) { return answer(status, body, header...), nil })
}

func answerFile(name, body string) *http.Response {
	status, contentType := 200, "application/json"
	if strings.HasSuffix(name, ".sse") {
		contentType = "text/event-stream; charset=utf-8"
	}
	switch {
	case strings.HasPrefix(name, "error_401"):
		status = 401
	case strings.HasPrefix(name, "error_429"), strings.HasPrefix(name, "error_quota"):
		status = 429
	}
	return answer(status, body, "Content-Type", contentType)
}

func ask(t testing.TB, m *openaimodel.Model, file string) (*agent.ModelResponse, string, error) {
	t.Helper()
	req := &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hi")}}
	if !strings.HasSuffix(file, ".sse") {
		res, err := m.Respond(t.Context(), req)
		return res, "", err
	}
	var text strings.Builder
	res, err := m.RespondStream(t.Context(), req, func(d agent.ModelDelta) bool {
		text.WriteString(d.Text)
		return true
	})
	return res, text.String(), err
}

// exchange is a file of testdata and what it says.
type exchange struct {
	file, id string
	items    []agent.Item // without Raw
	usage    agent.Usage
	streamed string
}

// exchanges are written after the shapes that OpenAI documents.
func exchanges() []exchange {
	return []exchange{
		{
			file: "text.json", id: "resp_0f7c3f2ab51d4a6b0068f1c2d3a4b08193b2c7e5d49a1f6e02",
			items: []agent.Item{{
				Type: agent.ItemMessage, ID: "msg_0f7c3f2ab51d4a6b0068f1c2d4a1cc8193a7a8e2f0c6b1d3e4",
				Role: agent.RoleAssistant, Text: "Die Überweisung ist raus — 250\u00a0€ an <Acme> & Söhne.",
			}},
			usage: agent.Usage{Requests: 1, InputTokens: 1214, CachedTokens: 1024, OutputTokens: 22, TotalTokens: 1236},
		},
		{
			file: "reasoning_and_calls.json", id: "resp_041e6a0c8d2f9b370068f1c3407e5881909c5b5c1c0aa6b7d1",
			items: []agent.Item{
				{Type: agent.ItemReasoning, ID: "rs_041e6a0c8d2f9b370068f1c3414d2c8190a1ff3ce07b4f5e92",
					Text: "**Paying two invoices** Both are open."},
				{
					Type: agent.ItemFunctionCall, ID: "fc_041e6a0c8d2f9b370068f1c343f7308190b6a5d4c3b2a19080",
					CallID: "call_Jx2bK9dQeW4mT7rYpL0aVn3s", Name: "transfer_funds",
					Arguments: `{"amount":1250.50,"to":"Acme","memo":"Invoice 1042"}`,
				},
				{
					Type: agent.ItemFunctionCall, ID: "fc_041e6a0c8d2f9b370068f1c344a0148190c7b6a5d4e3f20191",
					CallID: "call_9TfUq1LzXo5hC8vBnE2wRk7g", Name: "transfer_funds",
					Arguments: `{"amount":80,"to":"Globex","memo":"Invoice 1043"}`,
				},
			},
			usage: agent.Usage{
				Requests: 1, InputTokens: 912, OutputTokens: 187, ReasoningTokens: 128, TotalTokens: 1099,
			},
		},
		{
			file: "unknown_items.json", id: "resp_unknown",
			items: []agent.Item{
				{Type: "web_search_call", ID: "ws_1"},
				{Type: "telepathy_call", ID: "tp_1"},
				{Type: agent.ItemMessage, ID: "msg_1", Role: agent.RoleAssistant, Text: "Found it."},
			},
			usage: agent.Usage{Requests: 1, InputTokens: 10, OutputTokens: 5, TotalTokens: 15},
		},
		{
			file: "refusal.json", id: "resp_refusal",
			items: []agent.Item{{Type: agent.ItemMessage, ID: "msg_r", Role: agent.RoleAssistant,
				Text: "I'm sorry, but I can't help with that."}},
			usage: agent.Usage{Requests: 1, InputTokens: 20, OutputTokens: 11, TotalTokens: 31},
		},
		{
			file: "text.sse", id: "resp_s1", streamed: "Hello wörld",
			items: []agent.Item{
				{Type: agent.ItemMessage, ID: "msg_s1", Role: agent.RoleAssistant, Text: "Hello wörld"},
			},
			usage: agent.Usage{Requests: 1, InputTokens: 31, CachedTokens: 16, OutputTokens: 4, TotalTokens: 35},
		},
		{
			file: "calls.sse", id: "resp_s2",
			items: []agent.Item{
				{Type: agent.ItemReasoning, ID: "rs_s2"},
				{Type: agent.ItemFunctionCall, ID: "fc_s2", CallID: "call_s2", Name: "transfer_funds",
					Arguments: `{"amount":250}`},
			},
			usage: agent.Usage{Requests: 1, InputTokens: 50, OutputTokens: 40, ReasoningTokens: 24, TotalTokens: 90},
		},
		{
			file: "output_left_out.sse", id: "resp_s3",
			items: []agent.Item{
				{Type: agent.ItemMessage, ID: "msg_s3", Role: agent.RoleAssistant, Text: "From the items"},
			},
			usage: agent.Usage{Requests: 1, InputTokens: 5, OutputTokens: 3, TotalTokens: 8},
		},
		{
			file: "refusal.sse", id: "resp_s4", streamed: "I can't",
			items: []agent.Item{{Type: agent.ItemMessage, ID: "msg_s4", Role: agent.RoleAssistant, Text: "I can't"}},
			usage: agent.Usage{Requests: 1, InputTokens: 5, OutputTokens: 3, TotalTokens: 8},
		},
	}
}

func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, tt := range exchanges() {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			res, streamed, err := ask(t, newModel(t, replay(t, tt.file), nil), tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if res.ID != tt.id || res.Usage != tt.usage || streamed != tt.streamed {
				t.Errorf("got id %q, usage %+v, streamed %q", res.ID, res.Usage, streamed)
			}
			file := recorded(t, tt.file)
			got := slices.Clone(res.Items)
			for i := range got {
				if raw := string(got[i].Raw); raw == "" || !strings.Contains(file, raw) {
					t.Errorf("item %d is not verbatim: %s", i, raw)
				}
				got[i].Raw = nil
			}
			alike := func(a, b agent.Item) bool { a.Raw, b.Raw = nil, nil; return same(a, b) }
			if !slices.EqualFunc(got, tt.items, alike) {
				t.Errorf("got items\n%+v\nwant\n%+v", got, tt.items)
			}
		})
	}
}

func same(a, b agent.Item) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y) && a.Text == b.Text
}

func TestErrors(t *testing.T) {
	t.Parallel()
	file := func(name string) http.RoundTripper { return replay(t, name) }
	for _, tt := range []struct {
		why    string
		rt     http.RoundTripper
		stream bool
		status int
		code   string
		text   string
	}{
		{"a wrong key", file("error_401.json"), false, 401, "invalid_api_key",
			"OpenAI answered 401: Incorrect API key provided: … You can find your API key at " +
				"https://platform.openai.com/account/api-keys; check OPENAI_API_KEY [req_test]"},
		{"too fast", file("error_429.json"), false, 429, "rate_limit_exceeded",
			"OpenAI answered 429: Rate limit reached for gpt-5.2 in organization … on tokens per min (TPM): " +
				"Limit 30000, Used 29500, Requested 1200. Please try again in 1.4s [req_test]"},
		{"no quota", file("error_quota.json"), false, 429, "insufficient_quota", "check the plan and the billing"},
		{"no quota, streaming", file("error_quota.json"), true, 429, "insufficient_quota",
			"check the plan and the billing"},
		{"token limit", file("incomplete_tokens.json"), false, 0, "max_output_tokens",
			"OpenAI stopped the answer at the token limit, after 16 tokens; raise max_output_tokens [req_test]"},
		{"content filter", file("incomplete_filter.json"), false, 0, "content_filter",
			"OpenAI stopped the answer in its content filter"},
		{"failed", file("failed.json"), false, 0, "invalid_prompt", "OpenAI could not finish the answer: " +
			"Invalid prompt: your prompt was flagged as potentially violating our usage policy (invalid_prompt)"},
		{"failed stream", file("failed.sse"), true, 0, "server_error",
			"could not finish the answer: The model failed to generate a response"},
		{"incomplete stream", file("incomplete.sse"), true, 0, "max_output_tokens",
			"stopped the answer at the token limit"},
		{"error event", file("error_event.sse"), true, 0, "rate_limit_exceeded", "Rate limit reached"},
		{"error event with an object", file("error_object.sse"), true, 0, "context_length_exceeded",
			"the conversation is too long for the model"},
		{"page of a proxy", reply(502, "<html><h1>Bad Gateway</h1>", "Content-Type", "text/html"), false, 502, "",
			"OpenAI answered 502: bad gateway"},
		{"page of a proxy, streaming", reply(502, "<html>", "Content-Type", "text/html"), true, 502, "",
			"OpenAI answered 502: bad gateway"},
		{"login page", reply(200, "<html>log in</html>", "Content-Type", "text/html"), false, 0, "",
			"not JSON but text/html; check OPENAI_BASE_URL"},
		{"login page, streaming", reply(200, "<html>log in</html>", "Content-Type", "text/html"), true, 0, "",
			"not JSON but text/html; check OPENAI_BASE_URL"},
		{"no JSON under its name", reply(200, "oops", "Content-Type", "application/json"), false, 0, "",
			"gave an answer that is not JSON; check"},
		{"empty answer", reply(200, ""), false, 0, "", "not JSON"},
		{"broken JSON", reply(200, `{"id":"resp_1","output":[{"type"`), false, 0, "", "cut short or garbled"},
		{"broken event",
			reply(200, `data: {"type":"response.completed","response":{`+"\n\n", "Content-Type", "text/event-stream"),
			true, 0, "", "cut short or garbled"},
		{"empty stream", reply(200, "", "Content-Type", "text/event-stream"), true, 0, "", "cut short or garbled"},
		{"end without a response",
			reply(200, "data: {\"type\":\"response.completed\"}\n\n", "Content-Type", "text/event-stream"),
			true, 0, "", "not one of the Responses API"},
		{"another API", reply(200, `{"choices":[]}`), false, 0, "", "not one of the Responses API"},
		{"an item that is none", reply(200, `{"id":"r","status":"completed","output":[7]}`), false, 0, "",
			"not one of the Responses API"},
		{"still working", reply(200, `{"id":"r","status":"in_progress","output":[]}`), false, 0, "",
			"gave an unfinished answer"},
		{"error with status 200", reply(200, `{"error":{"message":"overloaded","code":529}}`), false, 0, "529",
			"could not finish the answer: overloaded (529)"},
		{"error that is a text", reply(404, `{"error":"model 'x' not found"}`), false, 404, "",
			"model 'x' not found; check OPENAI_BASE_URL and the model's name"},
		{"error of a framework", reply(422, `{"detail":"Unprocessable"}`), false, 422, "",
			"OpenAI answered 422: Unprocessable"},
		{"a message of many lines", reply(400, `{"error":{"message":"a\nb\u0007\u001b[31m  c"}}`), false, 400, "",
			"OpenAI answered 400: a b[31m c [req_test]"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, tt.rt, func(c *openaimodel.Config) { c.Streaming = tt.stream })
			_, err := m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hi")}})
			e, ok := errors.AsType[*openaimodel.Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Status != tt.status || e.Code != tt.code || !strings.Contains(e.Error(), tt.text) || e.Attempts != 1 ||
				e.RequestID != "req_test" {
				t.Errorf("got %+v\n%v\nwant status %d, code %q, text %q", *e, e, tt.status, tt.code, tt.text)
			}
			if strings.ContainsAny(e.Error(), "\n\r\a\x1b") {
				t.Errorf("control characters in %q", e.Error())
			}
		})
	}
}

// Servers repeat what they were sent. Nothing of it reaches the error's text.
func TestErrorsTellNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "the merger with Initech closes on Friday"
	req := &agent.ModelRequest{
		Instructions: "Never mention project Bluebird to anybody.",
		Items: []agent.Item{
			agent.UserMessage("Please keep quiet: " + secret),
			{Type: agent.ItemFunctionCall, CallID: "c", Name: "pay",
				Arguments: `{"iban":"DE89370400440532013000","pin":"4711"}`},
			agent.CallOutput("c", "transaction 998877665544 booked"),
		},
	}
	for _, message := range []string{
		"Incorrect API key provided: " + testKey,
		"Invalid header Authorization: Bearer " + testKey + " was refused",
		"Invalid value: '" + secret + "'. Supported values are: 'auto'",
		"could not process: Please keep quiet: " + secret + ", sorry",
		`input was {"iban":"DE89370400440532013000","pin":"4711"}`,
		"Invalid value: '4711'.",
		"instructions said Never mention project Bluebird to anybody.",
		"transaction 998877665544 booked is not allowed here",
		"bad token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.abc",
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": message, "code": "bad " + secret}})
		for _, status := range []int{400, 401, 500} {
			m := newModel(t, reply(status, string(body)), nil)
			_, err := m.Respond(t.Context(), req)
			if err == nil {
				t.Fatal("no error")
			}
			for _, leak := range []string{
				testKey, testKey[:12], "SECRET", "merger", "Initech", "DE8937", "4711", "Bluebird", "998877", "eyJhbG",
			} {
				if strings.Contains(err.Error(), leak) {
					t.Errorf("%q leaks %q: %v", message, leak, err)
				}
			}
		}
	}
	const harmless = "'temperature' is not supported with this model"
	control := newModel(t, reply(400, `{"error":{"message":"Unsupported parameter: `+harmless+`."}}`), nil)
	if _, err := control.Respond(t.Context(), req); !strings.Contains(err.Error(), harmless) {
		t.Errorf("control: a harmless message did not come through: %v", err)
	}
}

// The operator reads where it failed; the people of the conversation do not.
func TestPublicText(t *testing.T) {
	t.Parallel()
	m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp 10.1.2.3:8443: connection refused")
	}), func(c *openaimodel.Config) { c.BaseURL = "http://llm.internal:8443/v1" })
	_, err := m.Respond(t.Context(), &agent.ModelRequest{})
	e, ok := errors.AsType[*openaimodel.Error](err)
	want := "the model server llm.internal:8443 cannot be reached: " +
		"dial tcp 10.1.2.3:8443: connection refused; check OPENAI_BASE_URL and the network"
	if !ok || e.Error() != want {
		t.Errorf("for the operator: %v", err)
	}
	want = "the model server cannot be reached; check OPENAI_BASE_URL and the network"
	if got := e.Public(); got != want {
		t.Errorf("for people: %q, want %q", got, want)
	}
	_, _, err = ask(t, newModel(t, replay(t, "error_quota.json"), nil), "error_quota.json")
	e, ok = errors.AsType[*openaimodel.Error](err)
	if !ok || !strings.HasPrefix(e.Public(), "OpenAI answered 429: You exceeded your current quota") ||
		strings.Contains(e.Public(), "req_test") {
		t.Errorf("for people: %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		why      string
		cfg      openaimodel.Config
		key, url string // environment
		want     string // in the error; empty: none
	}{
		{"no model", openaimodel.Config{APIKey: "k"}, "", "", "Model"},
		{"an unknown API", openaimodel.Config{Model: "m", APIKey: "k", API: "completions"}, "", "",
			"use responses or chat_completions"},
		{"summaries over the wrong API",
			openaimodel.Config{Model: "m", APIKey: "k", API: openaimodel.ChatCompletions, ReasoningSummary: "auto"},
			"", "", "ReasoningSummary"},
		{"no key", openaimodel.Config{Model: "m"}, "", "", "OPENAI_API_KEY"},
		{"key from the environment", openaimodel.Config{Model: "m"}, "sk-env", "", ""},
		{"no key needed elsewhere", openaimodel.Config{Model: "m"}, "", "http://127.0.0.1:9/v1", ""},
		{"key with a line end", openaimodel.Config{Model: "m", APIKey: "sk-x\n"}, "", "", "OPENAI_API_KEY"},
		{"URL that is none", openaimodel.Config{Model: "m", APIKey: "k", BaseURL: "localhost:80"},
			"", "", "OPENAI_BASE_URL"},
		{"URL with a password",
			openaimodel.Config{Model: "m", APIKey: "k", BaseURL: "http://u:hunter2@h/v1"}, "", "", "user in it"},
		{"URL with a query",
			openaimodel.Config{Model: "m", APIKey: "k", BaseURL: "http://h/v1?key=hunter2"}, "", "", "query"},
		{"bad URL in the environment", openaimodel.Config{Model: "m", APIKey: "k"}, "", "::hunter2", "OPENAI_BASE_URL"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", tt.key)
			t.Setenv("OPENAI_BASE_URL", tt.url)
			_, err := openaimodel.New(tt.cfg)
			if (err == nil) != (tt.want == "") ||
				err != nil && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}
