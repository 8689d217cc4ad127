package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/rawtool"
)

func TestParseItem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why, raw string
		want     agent.Item
	}{
		{"a message of parts", `{"id":"msg_1","type":"message","role":"assistant","status":"completed",` +
			`"content":[{"type":"output_text","annotations":[{"text":"not this"}],"text":"Hello, "},` +
			`{"type":"output_text","text":"you \u20ac"},{"type":"refusal","refusal":"!"}]}`,
			agent.Item{Type: agent.ItemMessage, ID: "msg_1", Role: agent.RoleAssistant, Text: "Hello, you €!"}},
		{"a message without a type", `{"role":"user","content":"hi"}`,
			agent.Item{Type: agent.ItemMessage, Role: agent.RoleUser, Text: "hi"}},
		{"a call", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"pay",` +
			`"arguments":"{\"a\":\"\\u00e9\"}","status":"completed"}`,
			agent.Item{
				Type: agent.ItemFunctionCall, ID: "fc_1", CallID: "call_1", Name: "pay", Arguments: `{"a":"\u00e9"}`,
			}},
		{"an output", `{"type":"function_call_output","call_id":"call_1","output":"ok"}`,
			agent.Item{Type: agent.ItemFunctionCallOutput, CallID: "call_1", Output: "ok"}},
		{"an output of parts", `{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text",` +
			`"text":"o"},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"k"}]}`,
			agent.Item{Type: agent.ItemFunctionCallOutput, CallID: "call_1", Output: "ok"}},
		{"reasoning", `{"type":"reasoning","id":"rs_1","encrypted_content":"xyz",` +
			`"summary":[{"type":"summary_text","text":"think"}]}`,
			agent.Item{Type: agent.ItemReasoning, ID: "rs_1", Text: "think"}},
		{"an unknown kind",
			` {"type":"web_search_call","id":"ws_1","name":"x","call_id":"y","output":"z","arguments":"{}"} `,
			agent.Item{Type: "web_search_call", ID: "ws_1"}},
		{"fields of other types than usual", `{"type":"message","role":7,"content":null,"id":{}}`,
			agent.Item{Type: agent.ItemMessage}},
	} {
		got, err := agent.ParseItem(json.RawMessage(tt.raw))
		tt.want.Raw = json.RawMessage(strings.TrimSpace(tt.raw))
		if diff := gocmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tt.why, err, diff)
		}
	}
	for _, raw := range []string{``, `5`, `[]`, `{}`, `{"id":"x"}`, `{"type":"message"`, `{"type":"message"} x`,
		`{"type":""}`, strings.Repeat(`{"a":`, 600)} {
		if it, err := agent.ParseItem(json.RawMessage(raw)); err == nil {
			t.Errorf("%q was read as %+v", raw, it)
		}
	}
}

// What the model wrote stays visible where it is judged, and is replaced where it is only shown.
func TestParseItemBrokenText(t *testing.T) {
	t.Parallel()
	it, err := agent.ParseItem(
		json.RawMessage(
			"{\"type\":\"function_call\",\"call_id\":\"c\xff\",\"name\":\"n\",\"arguments\":\"\xff\\ud800\"}"))
	if err != nil || it.CallID != "c\uFFFD" || it.Arguments != "\xff\xed\xa0\x80" ||
		strings.Contains(string(it.Raw), "\xff") {
		t.Errorf("got %+q, %v", it, err)
	}
	if _, err := rawtool.Canonical([]byte(`"` + it.Arguments + `"`)); err == nil {
		t.Error("broken text was accepted")
	}
}

// What a provider wrote reads the same after it was saved, whichever bytes that are no text stand side by side in it.
func TestParsedItemsComeBack(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "\xff", "\xed\xa0\x80", "\xed", `\ud800`, `\udc00`, `\u00e9`, "\uFFFD"})
	text := rapid.Map(rapid.SliceOfN(piece, 0, 4), func(s []string) string { return strings.Join(s, "") })
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"function_call", "function_call_output", "message", "reasoning",
			"mcp_approval_request", "custom_tool_call"}).Draw(t, "kind")
		raw := `{"type":"` + kind + `"`
		for _, key := range []string{"id", "role", "call_id", "name", "server_label", "content", "output"} {
			raw += `,"` + key + `":"` + text.Draw(t, key) + `"`
		}
		it, err := agent.ParseItem(json.RawMessage(raw + "}"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(it)
		if err != nil {
			t.Fatal(err)
		}
		var got agent.Item
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(it, got); diff != "" {
			t.Errorf("%+q: %s", raw, diff)
		}
	})
}

func TestItemsComeBack(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"<b>&", "\x00\u2028\"\\", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		it := agent.Item{Agent: text.Draw(t, "agent")}
		switch it.Type = rapid.SampledFrom([]agent.ItemType{agent.ItemMessage, agent.ItemReasoning,
			agent.ItemFunctionCall, agent.ItemFunctionCallOutput}).Draw(t, "type"); it.Type {
		case agent.ItemMessage:
			it.Role, it.Text = agent.RoleUser, text.Draw(t, "text")
		case agent.ItemReasoning:
			it.Text = text.Draw(t, "text")
		case agent.ItemFunctionCall:
			it.CallID, it.Name, it.Arguments = text.Draw(t, "id"), text.Draw(t, "name"), text.Draw(t, "arguments")
		case agent.ItemFunctionCallOutput:
			it.CallID, it.Output = text.Draw(t, "id"), text.Draw(t, "output")
		}
		if rapid.Bool().Draw(t, "raw") {
			it.Raw = it.Wire()
		}
		data, err := json.Marshal(it)
		if err != nil || !json.Valid(it.Wire()) {
			t.Fatal(err)
		}
		var got agent.Item
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if diff := gocmp.Diff(string(data), string(again)); err != nil || diff != "" {
			t.Error(err, diff)
		}
		for _, s := range []*string{&it.Agent, &it.Text, &it.CallID, &it.Name, &it.Arguments, &it.Output} {
			*s = strings.ToValidUTF8(*s, "\uFFFD")
		}
		it.Raw, got.Raw = nil, nil
		if diff := gocmp.Diff(it, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDigests(t *testing.T) {
	t.Parallel()
	base := agent.Tool{
		Name: "a", Description: "d", Version: "1", Parameters: json.RawMessage(`{}`), Attributes: []string{"x", "y"},
	}
	seen := map[agent.Digest]string{base.Digest(): "base"}
	for why, change := range map[string]func(*agent.Tool){
		"name":                     func(t *agent.Tool) { t.Name = "b" },
		"description":              func(t *agent.Tool) { t.Description = "" },
		"version":                  func(t *agent.Tool) { t.Version = "2" },
		"kind":                     func(t *agent.Tool) { t.Kind = agent.KindHTTP },
		"schema, as it is written": func(t *agent.Tool) { t.Parameters = json.RawMessage(`{ }`) },
		"binding":                  func(t *agent.Tool) { t.Attributes = []string{"x", "z"} },
		"binding in another order": func(t *agent.Tool) { t.Attributes = []string{"y", "x"} },
		"binding joined":           func(t *agent.Tool) { t.Attributes = []string{"xy"} },
		"text moved between parts": func(t *agent.Tool) { t.Name, t.Description = "ad", "" },
	} {
		tool := base
		change(&tool)
		if other, ok := seen[tool.Digest()]; ok {
			t.Errorf("%s: the digest is that of %s", why, other)
		}
		seen[tool.Digest()] = why
	}
	same := base
	same.Kind, same.Timeout, same.NeedsApproval, same.Idempotent = agent.KindFunction, 5, agent.AlwaysAsk, true
	if same.Digest() != base.Digest() {
		t.Error("gates and timeouts are not part of the definition")
	}
	d := base.Digest().Call([]byte(`{}`))
	if d == base.Digest().Call([]byte(`{"a":1}`)) || d == same.Digest().Call(nil) || d == base.Digest() {
		t.Error("calls share a digest")
	}
	text, err := d.MarshalText()
	var back agent.Digest
	if err != nil || back.UnmarshalText(text) != nil || back != d || d.String() != string(text) {
		t.Errorf("got %s, %s", back, text)
	}
	for _, bad := range []string{
		"", d.String()[1:], d.String() + "00", strings.ToUpper(d.String()), "x" + d.String()[1:],
	} {
		if back.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestAnswerOfNoCall has nothing to say for an item that asks for nothing.
func TestAnswerOfNoCall(t *testing.T) {
	t.Parallel()
	call := agent.Item{Type: agent.ItemFunctionCall, CallID: "c1", Name: "pay", Agent: "ops"}
	message := agent.UserMessage("go")
	want := []agent.Item{{Type: agent.ItemFunctionCallOutput, CallID: "c1", Output: "paid", Agent: "ops"}, {}}
	out := agent.ToolOutput{Text: "paid"}
	if diff := gocmp.Diff(want, []agent.Item{call.Answer(out), message.Answer(out)}); diff != "" {
		t.Error(diff)
	}
}
