package openaimodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

func chatAPI(c *openaimodel.Config) { c.API = openaimodel.ChatCompletions }

// apiOf sets the API that a file of testdata is of.
func apiOf(file string) func(*openaimodel.Config) {
	return func(c *openaimodel.Config) {
		if strings.HasPrefix(file, "chat_") {
			chatAPI(c)
		}
	}
}

// chatExchanges are written after the shapes that OpenAI documents; the other servers' after what they were seen to do.
func chatExchanges() []exchange {
	call := func(id, name, arguments string) agent.Item {
		return agent.Item{Type: agent.ItemFunctionCall, CallID: id, Name: name, Arguments: arguments}
	}
	return []exchange{
		{
			file: "chat_text.json", id: "chatcmpl-CbN1text",
			items: []agent.Item{agent.AssistantMessage("Die Überweisung ist raus — 250\u00a0€ an <Acme> & Söhne.")},
			usage: agent.Usage{Requests: 1, InputTokens: 1214, CachedTokens: 1024, OutputTokens: 22, TotalTokens: 1236},
		},
		{
			file: "chat_calls.json", id: "chatcmpl-CbN2calls",
			items: []agent.Item{
				call("call_Jx2bK9dQeW4mT7rYpL0aVn3s", "transfer_funds",
					`{"amount":1250.50,"to":"Acme","memo":"Invoice 1042"}`),
				call("call_9TfUq1LzXo5hC8vBnE2wRk7g", "transfer_funds",
					`{"amount":80,"to":"Globex","memo":"Invoice 1043"}`),
			},
			usage: agent.Usage{
				Requests: 1, InputTokens: 912, OutputTokens: 187, ReasoningTokens: 128, TotalTokens: 1099,
			},
		},
		{
			file: "chat_text_and_call.json", id: "chatcmpl-CbN3both",
			items: []agent.Item{agent.AssistantMessage("I look it up."),
				call("call_1", "lookup_invoice", `{"number":"1042"}`)},
			usage: agent.Usage{Requests: 1, InputTokens: 100, OutputTokens: 20, TotalTokens: 120},
		},
		{
			file: "chat_refusal.json", id: "chatcmpl-CbN4refusal",
			items: []agent.Item{agent.AssistantMessage("I'm sorry, but I can't help with that.")},
			usage: agent.Usage{Requests: 1, InputTokens: 20, OutputTokens: 11, TotalTokens: 31},
		},
		{
			file: "chat_other_server.json", id: "cmpl-7",
			items: []agent.Item{agent.AssistantMessage("Moment"), call("a1", "now", "{}")},
			usage: agent.Usage{Requests: 1, InputTokens: 7, OutputTokens: 3, TotalTokens: 10},
		},
		{
			file: "chat_text.sse", id: "chatcmpl-S1", streamed: "Hello wörld",
			items: []agent.Item{agent.AssistantMessage("Hello wörld")},
			usage: agent.Usage{Requests: 1, InputTokens: 31, CachedTokens: 16, OutputTokens: 4, TotalTokens: 35},
		},
		{
			file: "chat_calls.sse", id: "chatcmpl-S2",
			items: []agent.Item{call("call_a", "transfer_funds", `{"amount":250}`),
				call("call_b", "transfer_funds", `{"to":"Globex"}`)},
			usage: agent.Usage{Requests: 1, InputTokens: 50, OutputTokens: 40, ReasoningTokens: 24, TotalTokens: 90},
		},
		{
			file: "chat_refusal.sse", id: "chatcmpl-S3", streamed: "I can't",
			items: []agent.Item{agent.AssistantMessage("I can't")},
			usage: agent.Usage{Requests: 1, InputTokens: 5, OutputTokens: 3, TotalTokens: 8},
		},
		{
			// The emoji is shown in halves and kept whole.
			file: "chat_other_server.sse", id: "chatcmpl-S5", streamed: "ok \uFFFD\uFFFD",
			items: []agent.Item{
				agent.AssistantMessage("ok 😀"), call("c1", "now", "{}"), call("c2", "now", `{"zone":"CET"}`),
			},
			usage: agent.Usage{Requests: 1},
		},
	}
}

func TestChatExchanges(t *testing.T) {
	t.Parallel()
	for _, tt := range chatExchanges() {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			res, streamed, err := ask(t, newModel(t, replay(t, tt.file), chatAPI), tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if res.ID != tt.id || res.Usage != tt.usage || streamed != tt.streamed {
				t.Errorf("got id %q, usage %+v, streamed %q", res.ID, res.Usage, streamed)
			}
			got := res.Items
			var saved bytes.Buffer
			enc := json.NewEncoder(&saved)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(got); err != nil {
				t.Fatal(err)
			}
			var back []agent.Item
			if err := json.Unmarshal(saved.Bytes(), &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, back); diff != "" {
				t.Errorf("saved and read again (-saved +read):\n%s", diff)
			}
			for i := range got {
				got[i].Raw = nil
			}
			if diff := cmp.Diff(tt.items, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

// What a model wrote as arguments is judged as it wrote it: mending it could make another call of it.
func TestChatArgumentsAreNotMended(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, token, want string }{
		{"half a character", `"{\"a\":\"\ud83d\"}"`, "{\"a\":\"\xed\xa0\xbd\"}"},
		{"no character", "\"{\\\"a\\\":\\\"\xff\\\"}\"", "{\"a\":\"\xff\"}"},
	} {
		body := `{"id":"x","choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[` +
			`{"id":"c","type":"function","function":{"name":"n","arguments":` + tt.token + `}}]}}]}`
		m := newModel(t, reply(200, body), chatAPI)
		res, err := m.Respond(t.Context(), &agent.ModelRequest{})
		if err != nil || res.Items[0].Arguments != tt.want {
			t.Errorf("%s: %+q, %v", tt.why, res.Items, err)
		}
	}
}

// The whole body as it goes over the wire; schemas as written.
func TestChatRequestOnTheWire(t *testing.T) {
	t.Parallel()
	schema := `{ "type":"object", "properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false }`
	req := &agent.ModelRequest{
		Instructions: "Be <brief> & kind.",
		Items: []agent.Item{
			agent.UserMessage("Grüße <b>"),
			{Type: agent.ItemFunctionCall, CallID: "call_1", Name: "pay", Arguments: `{"a": 1}`},
			agent.CallOutput("call_1", `{"ok":true}`),
		},
		Tools: []agent.ToolDefinition{
			{Name: "pay", Description: "Pays.", Parameters: json.RawMessage(schema)},
			{Name: "open", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)},
			{Name: "none"},
		},
		Settings: agent.ModelSettings{
			Temperature: ptr(0.0), MaxOutputTokens: 512, ReasoningEffort: "low", ToolChoice: "pay",
			ParallelToolCalls: ptr(false),
		},
		Output: &agent.OutputSchema{Name: "verdict", Schema: json.RawMessage(schema), Strict: true},
	}
	const want = `{"model":"gpt-5.2","stream":true,"stream_options":{"include_usage":true},"temperature":0,` +
		`"max_completion_tokens":512,"reasoning_effort":"low",` +
		`"tool_choice":{"type":"function","function":{"name":"pay"}},"parallel_tool_calls":false,` +
		`"tools":[{"type":"function","function":{"name":"pay","description":"Pays.","strict":true,` +
		`"parameters":SCHEMA}},` +
		`{"type":"function","function":{"name":"open","parameters":{"type":"object","properties":{"a":{}}}}},` +
		`{"type":"function","function":{"name":"none","strict":true,"parameters":{"type":"object","properties":{},` +
		`"required":[],"additionalProperties":false}}}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":SCHEMA}},` +
		`"messages":[{"role":"system","content":"Be <brief> & kind."},{"role":"user","content":"Grüße <b>"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"pay",` +
		`"arguments":"{\"a\": 1}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":"{\"ok\":true}"}]}`
	c := capture{
		answer: `{"id":"c","choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`,
	}
	m := newModel(t, &c, chatAPI)
	res, err := m.RespondStream(t.Context(), req, func(agent.ModelDelta) bool { return true })
	if err != nil || res.Items[0].Text != "ok" {
		t.Fatal(res, err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(want, "SCHEMA", schema), c.body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if c.url != "https://api.openai.com/v1/chat/completions" || c.header.Get("Authorization") != "Bearer "+testKey ||
		c.header.Get("Content-Type") != "application/json" {
		t.Errorf("url %s, header %v", c.url, c.header)
	}
	settings := agent.ModelSettings{ToolChoice: "required", ParallelToolCalls: ptr(true)}
	if _, err := m.Respond(t.Context(), &agent.ModelRequest{Settings: settings}); err != nil {
		t.Fatal(err)
	}
	if c.body != `{"model":"gpt-5.2","messages":[]}` {
		t.Errorf("nothing set: %s", c.body)
	}
}

func TestChatErrors(t *testing.T) {
	t.Parallel()
	sse := func(body string) http.RoundTripper { return reply(200, body, "Content-Type", "text/event-stream") }
	const begun = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"
	for _, tt := range []struct {
		why        string
		rt         http.RoundTripper
		stream     bool
		status     int
		code, text string
	}{
		{"token limit", replay(t, "chat_length.json"), false, 0, "max_output_tokens",
			"OpenAI stopped the answer at the token limit, after 16 tokens; raise max_output_tokens [req_test]"},
		{"token limit, streaming", replay(t, "chat_length.sse"), true, 0, "max_output_tokens",
			"OpenAI stopped the answer at the token limit, after 16 tokens; raise max_output_tokens [req_test]"},
		{"content filter", replay(t, "chat_filter.json"), false, 0, "content_filter",
			"stopped the answer in its content filter"},
		{"error in a stream", replay(t, "chat_error.sse"), true, 0, "server_error", "could not finish the answer: " +
			"The server had an error while processing your request. Sorry about that! (server_error)"},
		{"error with status 200", reply(200, `{"error":{"message":"overloaded","code":529}}`), false, 0, "529",
			"could not finish the answer: overloaded (529)"},
		{"a wrong key", replay(t, "error_401.json"), false, 401, "invalid_api_key", "check OPENAI_API_KEY"},
		{"another API", reply(200, completed), false, 0, "", "not one of the Chat Completions API"},
		{"no choices", reply(200, `{"id":"c","choices":[]}`), false, 0, "", "not one of the Chat Completions API"},
		{"content that is none", reply(200, `{"id":"c","choices":[{"message":{"content":7},"finish_reason":"stop"}]}`),
			false, 0, "", "not one of the Chat Completions API"},
		{"arguments that are no text", reply(200, `{"id":"c","choices":[{"message":{"tool_calls":[{"id":"a",`+
			`"function":{"name":"n","arguments":{}}}]},"finish_reason":"stop"}]}`), false, 0, "",
			"not one of the Chat Completions API"},
		{"a call without a name",
			reply(200, `{"id":"c","choices":[{"message":{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]},`+
				`"finish_reason":"stop"}]}`), false, 0, "", "not one of the Chat Completions API"},
		{"a call of another kind", reply(200, `{"id":"c","choices":[{"message":{"tool_calls":[{"id":"a",`+
			`"type":"custom","custom":{"name":"n","input":"x"}}]},"finish_reason":"stop"}]}`), false, 0, "",
			"not one of the Chat Completions API"},
		{"an end for an unknown reason",
			reply(200, `{"id":"c","choices":[{"message":{"content":"half"},"finish_reason":"error"}]}`), false, 0,
			"error", "gave an unfinished answer"},
		{"no reason for the end",
			reply(200, `{"id":"c","choices":[{"message":{"content":"half"},"finish_reason":null}]}`),
			false, 0, "", "cut short"},
		{"no reason for the end, streaming", sse(begun + "data: [DONE]\n\n"), true, 0, "", "cut short"},
		{"no end mark",
			sse(begun + `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"),
			true, 0, "", "cut short"},
		{"empty stream", sse("data: [DONE]\n\n"), true, 0, "", "cut short"},
		{"page of a proxy, streaming", reply(502, "<html>", "Content-Type", "text/html"), true, 502, "",
			"OpenAI answered 502: bad gateway"},
		{"a list of what is wrong", reply(422, `{"detail":[{"loc":["body","messages",0,"role"],"msg":"Field required",`+
			`"input":{"stream_options":{}}},{"loc":["body"],"msg":"Extra data"}]}`), true, 422, "",
			"answered 422: body.messages.0.role: Field required; body: Extra data"},
		{"login page", reply(200, "<html>log in</html>", "Content-Type", "text/html"), true, 0, "",
			"not JSON but text/html; check OPENAI_BASE_URL"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, tt.rt, func(c *openaimodel.Config) {
				c.Streaming, c.API = tt.stream, openaimodel.ChatCompletions
			})
			_, err := m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hi")}})
			e, ok := errors.AsType[*openaimodel.Error](err)
			if !ok || e.Status != tt.status || e.Code != tt.code ||
				!strings.Contains(e.Error(), tt.text) || e.Attempts != 1 {
				t.Errorf("got %v\nwant status %d, code %q, text %q", err, tt.status, tt.code, tt.text)
			}
		})
	}
}

// Servers that do not know a newer parameter are asked again without, at once, also by calls that run at the same time.
func TestChatOlderServers(t *testing.T) {
	t.Parallel()
	var bodies []string
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		for _, name := range []string{"max_completion_tokens", "stream_options"} {
			if strings.Contains(string(data), name) {
				return answer(422,
					`{"error":{"message":"extra_forbidden: `+name+`","type":"invalid_request_error"}}`), nil
			}
		}
		return answer(200, `{"id":"c","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`), nil
	})
	m := newModel(t, rt, func(c *openaimodel.Config) { c.Streaming, c.API = true, openaimodel.ChatCompletions })
	for range 2 {
		_, err := m.Respond(t.Context(), &agent.ModelRequest{Settings: agent.ModelSettings{MaxOutputTokens: 99}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 4 || bodies[3] != `{"model":"gpt-5.2","stream":true,"max_tokens":99,"messages":[]}` {
		t.Errorf("requests %q", bodies)
	}
	bodies = nil
	stubborn := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		bodies = append(bodies, "")
		return answer(400, `{"error":{"message":"stream_options"}}`), nil
	}), func(c *openaimodel.Config) { c.Streaming, c.API = true, openaimodel.ChatCompletions })
	if _, err := stubborn.Respond(t.Context(), &agent.ModelRequest{}); err == nil || len(bodies) != 5 {
		t.Errorf("a server that refuses what is not sent: %v after %d requests", err, len(bodies))
	}
}

// Who points the wrong API at a server that is not OpenAI's is told which one may be right.
func TestServerWithoutTheResponsesAPI(t *testing.T) {
	t.Parallel()
	const hint = "needs api: chat_completions"
	for _, tt := range []struct {
		base string
		api  openaimodel.API
		want bool
	}{
		{"http://llm.internal/v1", openaimodel.Responses, true},
		{"http://llm.internal/v1", openaimodel.ChatCompletions, false},
		{openaimodel.DefaultBaseURL, openaimodel.Responses, false},
	} {
		m := newModel(t, reply(404, "not found"), func(c *openaimodel.Config) { c.BaseURL, c.API = tt.base, tt.api })
		_, err := m.Respond(t.Context(), &agent.ModelRequest{})
		if err == nil || strings.Contains(err.Error(), hint) != tt.want {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
