package openaidev_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

// call sends any request and returns the status and the body.
func call(t *testing.T, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-test")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	data, _ := io.ReadAll(w.Body)
	return w.Code, string(data)
}

func chat(t *testing.T, h http.Handler, body string) (int, string) {
	t.Helper()
	return call(t, h, http.MethodPost, "/v1/chat/completions", body)
}

type chatReply struct {
	ID      string `json:"id"`
	Choices []struct {
		Message struct {
			Content   *string           `json:"content"`
			Refusal   *string           `json:"refusal"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// The demo is the same conversation in chat completions as it is in responses.
func TestChatDemo(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Demo())
	messages := []string{
		`{"role":"system","content":"You pay bills."}`, `{"role":"user","content":"pay both invoices"}`,
	}
	tools := strings.NewReplacer(`{"type":"function","name"`, `{"type":"function","function":{"name"`,
		`"strict":false}`, `"strict":false}}`).Replace(demoTools)
	ask := func() chatReply {
		status, data := chat(t, h, `{"model":"m","tools":`+tools+`,"messages":[`+strings.Join(messages, ",")+`]}`)
		var r chatReply
		if err := json.Unmarshal([]byte(data), &r); err != nil || status != 200 {
			t.Fatalf("%d %v %s", status, err, data)
		}
		return r
	}
	for _, output := range []string{invoice1042, `{"reference":"TR-7"}`} {
		r := ask()
		if len(r.Choices[0].Message.ToolCalls) != 2 || r.Choices[0].FinishReason != "tool_calls" ||
			r.Choices[0].Message.Content != nil {
			t.Fatalf("answer %+v", r)
		}
		calls, _ := json.Marshal(r.Choices[0].Message.ToolCalls)
		messages = append(messages, `{"role":"assistant","content":null,"tool_calls":`+string(calls)+`}`)
		for _, raw := range r.Choices[0].Message.ToolCalls {
			var c struct {
				ID string `json:"id"`
			}
			_ = json.Unmarshal(raw, &c)
			quoted, _ := json.Marshal(output)
			messages = append(messages, `{"role":"tool","tool_call_id":"`+c.ID+`","content":`+string(quoted)+`}`)
		}
	}
	r := ask()
	text := r.Choices[0].Message.Content
	if text == nil || strings.Count(*text, "TR-7") != 2 || r.Choices[0].FinishReason != "stop" {
		t.Errorf("last answer %+v", r)
	}
	if again := ask(); again.ID != r.ID {
		t.Errorf("the same request got ids %s and %s", r.ID, again.ID)
	}
}

func TestChatRefusals(t *testing.T) {
	t.Parallel()
	const (
		user  = `{"role":"user","content":"hi"}`
		calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f",` +
			`"arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		outA = `{"role":"tool","tool_call_id":"a","content":"1"}`
		outB = `{"role":"tool","tool_call_id":"b","content":"2"}`
		tl   = `{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
			`"properties":{"a":{"type":"string"}}}}}`
	)
	messages := func(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }
	with := func(rest string) string { return `{"model":"m","messages":[` + user + `],` + rest + `}` }
	for _, tt := range []struct{ why, body, want string }{
		{"not JSON", `{`, "could not parse"},
		{"no model", `{"messages":[` + user + `]}`, "'model'"},
		{"no messages", `{"model":"m","messages":[]}`, "empty array"},
		{"a parameter of the other API", with(`"input":"hi"`), "Unknown parameter: 'input'"},
		{"instructions", with(`"instructions":"x"`), "Unknown parameter: 'instructions'"},
		{"calls without outputs", messages(user, calls), "did not have response messages: a, b"},
		{"one output missing", messages(user, calls, outA), "did not have response messages: b"},
		{"a message in between", messages(user, calls, outA, user, outB), "did not have response messages: b"},
		{"an output without a call", messages(user, outA), "must be a response to a preceeding message"},
		{"an output twice", messages(user, calls, outA, outA, outB), "must be a response to a preceeding message"},
		{"a call id twice", messages(user, strings.ReplaceAll(calls, `"b"`, `"a"`), outA),
			"Duplicate value for 'tool_call_id'"},
		{"a call without arguments",
			messages(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]}`, outA),
			"tool_calls[0]"},
		{"calls of a user", messages(strings.Replace(calls, "assistant", "user", 1)), "'content'"},
		{"nothing said", messages(`{"role":"assistant","content":null}`), "expected a string, got null"},
		{"a part of the other API",
			messages(`{"role":"user","content":[{"type":"input_text","text":"x"}]}`), "'input_text'"},
		{"a picture of a tool",
			messages(user, calls, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url"}]}`),
			"'image_url'"},
		{"no role", messages(`{"content":"x"}`), "Supported values"},
		{"an item", messages(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`), "Supported values"},
		{"a tool of the other API", with(`"tools":[{"type":"function","name":"f"}]`), "tools[0].function"},
		{"a hosted tool", with(`"tools":[{"type":"web_search"}]`), "'web_search'"},
		{"a long description",
			with(`"tools":[` +
				strings.Replace(tl, `{"name"`, `{"description":"`+strings.Repeat("ü", 1025)+`","name"`, 1) + `]`),
			"'tools[0].function.description': string too long. Expected a string with maximum length 1024"},
		{"many tools", with(`"tools":[` + strings.Repeat(tl+",", 128) + tl + `]`),
			"'tools': array too long. Expected an array with maximum length 128"},
		{"a long call id", messages(user, strings.ReplaceAll(calls, `"a"`, `"`+strings.Repeat("a", 41)+`"`)),
			"'messages[1].tool_calls[0].id': string too long"},
		{"a call with a name that is none", messages(user, strings.ReplaceAll(calls, `"f"`, `"f.g"`)),
			"'messages[1].tool_calls[0].function.name': string does not match pattern"},
		{"no properties", with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`),
			"object schema missing properties"},
		{"strict, but open", with(`"tools":[` + strings.Replace(tl, `"name":"f"`, `"name":"f","strict":true`, 1) + `]`),
			"additionalProperties"},
		{"a choice without tools", with(`"tool_choice":"auto"`), "only allowed when 'tools'"},
		{"a choice in the other form",
			with(`"tools":[` + tl + `],"tool_choice":{"type":"function","name":"f"}`), "tool_choice"},
		{"a choice of nothing", with(`"tools":[` + tl + `],"tool_choice":{"type":"function","function":{"name":"g"}}`),
			"not found in 'tools'"},
		{"parallel without tools", with(`"parallel_tool_calls":true`), "only allowed when 'tools'"},
		{"stream options without a stream", with(`"stream_options":{"include_usage":true}`),
			"only allowed when 'stream'"},
		{"two limits", with(`"max_tokens":20,"max_completion_tokens":20`), "at the same time"},
		{"unknown effort", with(`"reasoning_effort":"extreme"`), "extreme"},
		{"a format without a schema", with(`"response_format":{"type":"json_schema"}`), "json_schema"},
		{"a format that is not strict", with(`"response_format":{"type":"json_schema","json_schema":{"name":"n",` +
			`"strict":true,"schema":{"type":"object","properties":{}}}}`), "additionalProperties"},
		{"an unknown format", with(`"response_format":{"type":"yaml"}`), "'yaml'"},
	} {
		status, data := chat(t, handler(t, openaidev.Script{}), tt.body)
		if status < 400 || status >= 500 || !strings.Contains(data, tt.want) {
			t.Errorf("%s: got %d %s, want a refusal with %q", tt.why, status, data, tt.want)
		}
	}
	for _, tt := range []struct{ why, body string }{
		{"a pair of calls", messages(user, calls, outA, outB)},
		{"outputs in another order", messages(user, calls, outB, outA)},
		{"a call id again in a later turn", messages(user, calls, outA, outB, calls, outB, outA)},
		{"a refusal", messages(user, `{"role":"assistant","content":null,"refusal":"no"}`, user)},
		{"a tool that is not strict", with(`"tools":[` + tl + `],"tool_choice":{"type":"function",` +
			`"function":{"name":"f"}},"parallel_tool_calls":false`)},
		{"a format", with(`"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,` +
			`"schema":{"type":"object","properties":{},"required":[],"additionalProperties":false}}}`)},
	} {
		if status, data := chat(t, handler(t, openaidev.Script{}), tt.body); status != 200 {
			t.Errorf("control, %s: %d %s", tt.why, status, data)
		}
	}
}

// The chunks of a stream say the same as the plain answer.
func TestChatStream(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Reply: openaidev.Reply{
		Text: "one two", Calls: []openaidev.Call{{Name: "f", Arguments: `{"a": 1}`}, {Name: "g", Arguments: `{}`}},
	}}}})
	for _, usage := range []bool{false, true} {
		_, data := chat(t, h, fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,`+
			`"stream_options":{"include_usage":%t}}`, usage))
		frames := strings.Split(strings.TrimSuffix(data, "\n\n"), "\n\n")
		if frames[len(frames)-1] != "data: [DONE]" {
			t.Fatalf("last frame %q", frames[len(frames)-1])
		}
		var text, arguments, finish string
		var used bool
		for _, frame := range frames[:len(frames)-1] {
			var c struct {
				Usage   *json.RawMessage `json:"usage"`
				Choices []struct {
					Delta struct {
						Content   string
						ToolCalls []struct {
							Index    int
							Function struct{ Arguments string }
						} `json:"tool_calls"`
					}
					FinishReason string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &c); err != nil {
				t.Fatalf("%v: %s", err, frame)
			}
			used = used || c.Usage != nil && len(c.Choices) == 0
			for _, choice := range c.Choices {
				text += choice.Delta.Content
				finish += choice.FinishReason
				for _, call := range choice.Delta.ToolCalls {
					arguments += fmt.Sprint(call.Index) + call.Function.Arguments + "|"
				}
			}
		}
		if text != "one two" || arguments != `0|0{"a": |01}|1|1{}|` || finish != "tool_calls" || used != usage {
			t.Errorf("text %q, arguments %q, finish %q, usage %t", text, arguments, finish, used)
		}
	}
}

func TestChatEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply  openaidev.Reply
		status int
		want   string
	}{
		{openaidev.Reply{Text: "x", Incomplete: "max_output_tokens"}, 200, `"finish_reason":"length"`},
		{openaidev.Reply{Text: "x", Incomplete: "content_filter"}, 200, `"finish_reason":"content_filter"`},
		{openaidev.Reply{Refusal: "no"}, 200, `"refusal":"no"`},
		{openaidev.Reply{Failed: "server_error"}, 500, `"server_error"`},
		{openaidev.Reply{Raw: []json.RawMessage{[]byte(`{"type":"x"}`)}}, 500, "script failed"},
		{openaidev.Reply{Calls: []openaidev.Call{{Kind: openaidev.CallShell, Arguments: `{"commands":[]}`}}}, 500,
			"script failed"},
	} {
		h := handler(t, openaidev.Script{Rules: []openaidev.Rule{{Reply: tt.reply}}})
		status, data := chat(t, h, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		if status != tt.status || !strings.Contains(data, tt.want) {
			t.Errorf("%+v: %d %s", tt.reply, status, data)
		}
	}
}
