package openaimodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

const chatDone = `{"id":"c","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

// messagesOf returns the messages that the items become.
func messagesOf(t *testing.T, items []agent.Item) (string, error) {
	t.Helper()
	c := capture{answer: chatDone}
	_, err := newModel(t, &c, chatAPI).Respond(t.Context(), &agent.ModelRequest{Items: items})
	if err != nil {
		if c.body != "" {
			t.Errorf("something was sent: %s", c.body)
		}
		return "", err
	}
	messages, ok := strings.CutPrefix(c.body, `{"model":"gpt-5.2","messages":`)
	if !ok {
		t.Fatalf("body %s", c.body)
	}
	return strings.TrimSuffix(messages, "}"), nil
}

func parsed(t testing.TB, raw string) agent.Item {
	t.Helper()
	it, err := agent.ParseItem(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func fcall(id string) agent.Item {
	return agent.Item{Type: agent.ItemFunctionCall, CallID: id, Name: "f", Arguments: "{}"}
}

func TestChatMessages(t *testing.T) {
	t.Parallel()
	assistant := func(content string, ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		if len(calls) == 0 {
			return `{"role":"assistant","content":` + content + `}`
		}
		return `{"role":"assistant","content":` + content + `,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	tool := func(id, text string) string {
		return `{"role":"tool","tool_call_id":"` + id + `","content":"` + text + `"}`
	}
	const user = `{"role":"user","content":"hi"}`
	hi := agent.UserMessage("hi")
	for _, tt := range []struct {
		why   string
		items []agent.Item
		want  []string
	}{
		{"parallel calls are one message",
			[]agent.Item{hi, fcall("a"), fcall("b"), agent.CallOutput("a", "1"), agent.CallOutput("b", "2")},
			[]string{user, assistant("null", "a", "b"), tool("a", "1"), tool("b", "2")}},
		{"outputs in another order",
			[]agent.Item{hi, fcall("a"), fcall("b"), agent.CallOutput("b", "2"), agent.CallOutput("a", "1")},
			[]string{user, assistant("null", "a", "b"), tool("a", "1"), tool("b", "2")}},
		{"a message between call and output", []agent.Item{fcall("a"), hi, agent.CallOutput("a", "1")},
			[]string{assistant("null", "a"), tool("a", "1"), user}},
		{"a call id of an earlier turn",
			[]agent.Item{fcall("a"), agent.CallOutput("a", "1"), fcall("a"), agent.CallOutput("a", "2")},
			[]string{assistant("null", "a"), tool("a", "1"), assistant("null", "a"), tool("a", "2")}},
		{"text before a call", []agent.Item{agent.AssistantMessage("wait"), fcall("a"), agent.CallOutput("a", "1")},
			[]string{assistant(`"wait"`, "a"), tool("a", "1")}},
		{"text after a call", []agent.Item{fcall("a"), agent.AssistantMessage("wait"), agent.CallOutput("a", "1")},
			[]string{assistant(`"wait"`, "a"), tool("a", "1")}},
		{"two texts and a call",
			[]agent.Item{
				agent.AssistantMessage("x"), agent.AssistantMessage("y"), fcall("a"), agent.CallOutput("a", "1"),
			},
			[]string{assistant(`[{"type":"text","text":"x"},{"type":"text","text":"y"}]`, "a"), tool("a", "1")}},
		{"two texts", []agent.Item{agent.AssistantMessage("x"), agent.AssistantMessage("y")},
			[]string{assistant(`"x"`), assistant(`"y"`)}},
		{"summaries of reasoning are left out",
			[]agent.Item{
				hi, parsed(t, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]}`),
				fcall("a"), agent.CallOutput("a", "1"),
			},
			[]string{user, assistant("null", "a"), tool("a", "1")}},
		{"a call without an output yet", []agent.Item{fcall("a")}, []string{assistant("null", "a")}},
		{"an output without a call", []agent.Item{hi, agent.CallOutput("z", "1")}, []string{user, tool("z", "1")}},
		{"a refusal",
			[]agent.Item{parsed(t, `{"type":"message","id":"m","role":"assistant",`+
				`"content":[{"type":"refusal","refusal":"no"}]}`)},
			[]string{`{"role":"assistant","content":null,"refusal":"no"}`}},
		{"a provider's message",
			[]agent.Item{parsed(t, `{"type":"message","id":"m","role":"assistant","status":"completed",`+
				`"content":[{"type":"output_text","annotations":[{"type":"url_citation"}],"text":"a\u00fc"}]}`)},
			[]string{assistant(`"a\u00fc"`)}},
		{"an empty message", []agent.Item{parsed(t, `{"role":"assistant","content":[]}`)}, []string{assistant(`""`)}},
		{"a developer", []agent.Item{{Type: agent.ItemMessage, Role: agent.RoleDeveloper, Text: "obey"}},
			[]string{`{"role":"system","content":"obey"}`}},
		{"a picture",
			[]agent.Item{parsed(t, `{"role":"user","content":[{"type":"input_text","text":"see"},`+
				`{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"low"},`+
				`{"type":"input_file","file_data":"data:x","filename":"a.pdf"}]}`)},
			[]string{`{"role":"user","content":[{"type":"text","text":"see"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}},` +
				`{"type":"file","file":{"file_data":"data:x","filename":"a.pdf"}}]}`}},
		{"an output of parts",
			[]agent.Item{fcall("a"), parsed(t, `{"type":"function_call_output","call_id":"a",`+
				`"output":[{"type":"input_text","text":"1"},{"type":"input_text","text":"2"}]}`)},
			[]string{assistant("null", "a"), tool("a", "12")}},
	} {
		got, err := messagesOf(t, tt.items)
		if want := "[" + strings.Join(tt.want, ",") + "]"; err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.why, err, got, want)
		}
	}
}

// What the API cannot take is refused by name, and nothing is sent.
func TestChatRefusesWhatItCannotTake(t *testing.T) {
	t.Parallel()
	item := func(raw string) agent.ModelRequest {
		return agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hi"), parsed(t, raw)}}
	}
	tool := func(d agent.ToolDefinition) agent.ModelRequest {
		d.Name = "it"
		return agent.ModelRequest{Tools: []agent.ToolDefinition{d}}
	}
	for _, tt := range []struct {
		req  agent.ModelRequest
		want string
	}{
		{item(`{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA","summary":[]}`),
			`"reasoning", because of its encrypted content`},
		{item(`{"type":"mcp_list_tools","id":"m"}`), `"mcp_list_tools"`},
		{item(`{"type":"mcp_approval_request","id":"m"}`), `"mcp_approval_request"`},
		{item(`{"type":"mcp_approval_response","approval_request_id":"m","approve":true}`), `"mcp_approval_response"`},
		{item(`{"type":"mcp_call","id":"m"}`), `"mcp_call"`},
		{item(`{"type":"web_search_call","id":"w"}`), `"web_search_call"`},
		{item(`{"type":"shell_call","id":"s","call_id":"c"}`), `"shell_call"`},
		{item(`{"type":"shell_call_output","call_id":"c","output":[]}`), `"shell_call_output"`},
		{item(`{"type":"apply_patch_call","id":"s","call_id":"c"}`), `"apply_patch_call"`},
		{item(`{"type":"custom_tool_call","id":"s","call_id":"c"}`), `"custom_tool_call"`},
		{item(`{"type":"item_reference","id":"msg_1"}`), `"item_reference"`},
		{item(`{"type":"telepathy_call","id":"msg_1"}`), `"telepathy_call"`},
		{item(`{"role":"user","content":[{"type":"input_image","file_id":"file_1"}]}`), "input_image"},
		{item(`{"role":"user","content":[{"type":"input_file","file_url":"https://x"}]}`), "input_file"},
		{item(`{"role":"user","content":[{"type":"input_audio"}]}`), "input_audio"},
		{item(`{"role":"user","content":7}`), "content"},
		{item(`{"role":"critic","content":"x"}`), `role "critic"`},
		{item(`{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"x"}]}`),
			"input_image"},
		{agent.ModelRequest{Conversation: "conv_1"}, "a conversation kept by the server"},
		{agent.ModelRequest{PreviousResponseID: "resp_1"}, "a previous response kept by the server"},
		{agent.ModelRequest{Stored: true}, "to be kept for later requests"},
		{tool(agent.ToolDefinition{Wire: agent.WireCustom}), "tool it, whose wire form is custom"},
		{tool(agent.ToolDefinition{Wire: agent.WireShell}), "wire form is shell"},
		{tool(agent.ToolDefinition{Wire: agent.WireApplyPatch}), "wire form is apply_patch"},
		{tool(agent.ToolDefinition{Wire: agent.WireHosted, Hosted: json.RawMessage(`{"type":"web_search"}`)}),
			"wire form is hosted"},
	} {
		m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			t.Errorf("%s: a request was sent", tt.want)
			return answer(200, chatDone), nil
		}), func(c *openaimodel.Config) { c.API, c.MaxAttempts = openaimodel.ChatCompletions, 3 })
		_, err := m.Respond(t.Context(), &tt.req)
		if !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "use api: responses") {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// However calls, outputs and messages are mixed, each message with calls is followed by exactly their outputs, and no
// text is lost, repeated or moved past another of its kind.
func TestChatMessagesFollowTheRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var items []agent.Item
		var open []string
		var texts []string
		n := 0
		text := func() string { n++; return fmt.Sprintf("text %d", n) }
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"user", "model", "output"}).Draw(r, "step") {
			case "user":
				items = append(items, agent.UserMessage(text()))
			case "model":
				for range rapid.IntRange(1, 3).Draw(r, "said") {
					if rapid.Bool().Draw(r, "call") {
						n++
						id := fmt.Sprintf("call_%d", n)
						items, open = append(items, fcall(id)), append(open, id)
					} else {
						items = append(items, agent.AssistantMessage(text()))
					}
				}
			case "output":
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(r, "which")
					items, open = append(items, agent.CallOutput(open[i], text())), append(open[:i:i], open[i+1:]...)
				}
			}
		}
		for _, id := range open {
			items = append(items, agent.CallOutput(id, text()))
		}
		for _, it := range items {
			texts = append(texts, it.Text+it.Output)
		}
		encoded, err := messagesOf(t, items)
		if err != nil {
			r.Fatal(err)
		}
		var messages []message
		if err := json.Unmarshal([]byte(encoded), &messages); err != nil {
			r.Fatalf("%v\n%s", err, encoded)
		}
		for _, text := range texts {
			if text != "" && strings.Count(encoded, `"`+text+`"`) != 1 {
				r.Fatalf("%q stands %d times in %s", text, strings.Count(encoded, `"`+text+`"`), encoded)
			}
		}
		if problem := breaksRules(messages); problem != "" {
			r.Fatalf("%s: %s", problem, encoded)
		}
	})
	// The rule itself: it must be able to say no.
	for _, bad := range []string{
		`[{"role":"assistant","tool_calls":[{"id":"a"}]}]`,
		`[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user"},{"role":"tool","tool_call_id":"a"}]`,
		`[{"role":"tool","tool_call_id":"a"}]`,
	} {
		var messages []message
		if err := json.Unmarshal([]byte(bad), &messages); err != nil || breaksRules(messages) == "" {
			t.Errorf("control: %s is taken for good (%v)", bad, err)
		}
	}
}

// breaksRules says which rule of the API a list of messages breaks, or "".
func breaksRules(messages []message) string {
	for i := 0; i < len(messages); i++ {
		if messages[i].Role == "tool" {
			return "an output that follows no call"
		}
		for _, call := range messages[i].ToolCalls {
			i++
			if i == len(messages) || messages[i].Role != "tool" || messages[i].ToolCallID != call.ID {
				return "call " + call.ID + " is not followed by its output"
			}
		}
	}
	return ""
}

func TestMessagesHaveNoDifferentMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		encoded, err := messagesOf(t, []agent.Item{agent.UserMessage(text), agent.AssistantMessage(text)})
		if err != nil {
			r.Fatal(err)
		}
		var messages []message
		if err := json.Unmarshal([]byte(encoded), &messages); err != nil || len(messages) != 2 {
			r.Fatal(err, encoded)
		}
		for _, m := range messages {
			var got string
			err := json.Unmarshal(m.Content, &got)
			if err != nil || !cmp.Equal(got, strings.ToValidUTF8(text, "\uFFFD")) {
				r.Fatalf("%q became %q (%v)", text, got, err)
			}
		}
	})
}
