package openaimodel_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/openaidev"
)

// Tools go out in their wire form, and one of them can be chosen by its name.
func TestToolForms(t *testing.T) {
	t.Parallel()
	hosted := `{ "type":"mcp", "server_label":"wiki", "server_url":"https://x", "require_approval":"always" }`
	tools := []agent.ToolDefinition{
		{Name: "sql", Description: "Asks the database.", Wire: agent.WireCustom},
		{Name: "bash", Description: "ours alone", Wire: agent.WireShell},
		{Name: "patch", Wire: agent.WireApplyPatch},
		{Name: "wiki", Wire: agent.WireHosted, Hosted: json.RawMessage(hosted)},
		{Name: "search", Wire: agent.WireHosted, Hosted: json.RawMessage(`{"type":"web_search"}`)},
		{Name: "container", Wire: agent.WireHosted,
			Hosted: json.RawMessage(`{"type":"shell","environment":{"type":"container_auto"}}`)},
	}
	const want = `"tools":[{"type":"custom","name":"sql","description":"Asks the database."},` +
		`{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"},` +
		`HOSTED,{"type":"web_search"},{"type":"shell","environment":{"type":"container_auto"}}]`
	for choice, want := range map[string]string{
		"":         strings.Replace(want, "HOSTED", hosted, 1),
		"sql":      `"tool_choice":{"type":"custom","name":"sql"}`,
		"bash":     `"tool_choice":{"type":"shell"}`,
		"patch":    `"tool_choice":{"type":"apply_patch"}`,
		"wiki":     `"tool_choice":{"type":"mcp","server_label":"wiki"}`,
		"search":   `"tool_choice":{"type":"web_search"}`,
		"required": `"tool_choice":"required"`,
	} {
		var c capture
		_, err := newModel(t, &c, nil).Respond(t.Context(), &agent.ModelRequest{
			Tools: tools, Settings: agent.ModelSettings{ToolChoice: choice},
		})
		if err != nil || !strings.Contains(c.body, want) {
			t.Errorf("%q: %v\n got %s\nwant %s", choice, err, c.body, want)
		}
	}
}

// What cannot work, or would be executed here without anybody to gate it, is refused before anything is sent.
func TestRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	hosted := func(definition string) agent.ModelRequest {
		return agent.ModelRequest{
			Tools: []agent.ToolDefinition{{Name: "it", Wire: agent.WireHosted, Hosted: json.RawMessage(definition)}},
		}
	}
	output := func(name, schema string, strict bool) agent.ModelRequest {
		return agent.ModelRequest{
			Output: &agent.OutputSchema{Name: name, Schema: json.RawMessage(schema), Strict: strict},
		}
	}
	for _, tt := range []struct {
		req  agent.ModelRequest
		want string // empty: it is sent
	}{
		{hosted(``), "tool it: its hosted definition is not a JSON object with a type"},
		{hosted(`{"name":"x"}`), "with a type"},
		{hosted(`[]`), "with a type"},
		{hosted(`{"type":"function","name":"x"}`), "would be executed here"},
		{hosted(`{"type":"shell"}`), "would be executed here"},
		{hosted(`{"type":"shell","environment":{"type":"local"}}`), "would be executed here"},
		{hosted(`{"type":"web_search"}`), ""},
		{agent.ModelRequest{Tools: []agent.ToolDefinition{{Name: "it", Wire: "telepathy"}}},
			`the wire form "telepathy" is not known`},
		{agent.ModelRequest{Conversation: "conv_1", PreviousResponseID: "resp_1"}, "not from both"},
		{output("", closed, true), `name ""`},
		{output("a b", closed, true), `name "a b"`},
		{output("a", `{`, false), "not the JSON Schema of an object"},
		{output("a", `{"type":"string"}`, false), "not the JSON Schema of an object"},
		{output("a", `{"type":"object"}`, true), `add properties at its top, or set Strict to false`},
		{output("a", strings.Replace(closed, `,"additionalProperties":false`, ``, 1), true),
			`add "additionalProperties": false at its top`},
		{output("a", strings.Replace(closed, `["a"]`, `[]`, 1), true), `add "a" to required`},
		{output("a", strings.Replace(closed, `{"type":"string"}`, `{"type":"string","default":"x"}`, 1), true),
			`remove the keyword "default" at properties.a`},
		{output("a", strings.Replace(closed,
			`{"type":"string"}`, `{"type":"array","items":{"type":"string","format":"iban"}}`, 1), true),
			`remove the format "iban" at properties.a.items`},
		{output("a", strings.Replace(closed, `{"type":"string"}`, `{"anyOf":[{"type":"null"},{"oneOf":[]}]}`, 1), true),
			`remove the keyword "oneOf" at properties.a.anyOf.1`},
		{output("a", `{"type":"object"}`, false), ""},
		{output("a", closed, true), ""},
	} {
		sent := false
		m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			sent = true
			return answer(200, completed), nil
		}), nil)
		_, err := m.Respond(t.Context(), &tt.req)
		if sent != (tt.want == "") || (err == nil) != sent ||
			err != nil && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("sent %t, error %v, want %q", sent, err, tt.want)
		}
	}
}

// An output schema goes out as written; what the server checks of it passes.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	const schema = `{ "type":"object","properties":{"a":{"type":"string"}},"required":["a"],` +
		`"additionalProperties":false }`
	s := serve(t, says(`{"a":"x"}`))
	for api, want := range map[openaimodel.API]string{
		openaimodel.Responses: `"text":{"format":{"type":"json_schema","name":"verdict","strict":STRICT,` +
			`"schema":` + schema + `}}`,
		openaimodel.ChatCompletions: `"response_format":{"type":"json_schema","json_schema":{"name":"verdict",` +
			`"strict":STRICT,"schema":` + schema + `}}`,
	} {
		for _, strict := range []string{"true", "false"} {
			m := modelOf(t, s, func(c *openaimodel.Config) { c.API = api })
			res, err := m.Respond(t.Context(), &agent.ModelRequest{
				Items:  []agent.Item{agent.UserMessage("x")},
				Output: &agent.OutputSchema{Name: "verdict", Schema: json.RawMessage(schema), Strict: strict == "true"},
			})
			requests := s.Requests()
			body, want := string(requests[len(requests)-1].Body), strings.Replace(want, "STRICT", strict, 1)
			if err != nil || res.Items[0].Text != `{"a":"x"}` || !strings.Contains(body, want) {
				t.Errorf("%s, strict %s: %v\n%s", api, strict, err, body)
			}
		}
	}
}

// Calls of every kind come back to the server as they came, with outputs of their own kind beside them.
func TestKindsOfItemsPassThrough(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, types string }{
		{"local_calls.json", "custom_tool_call shell_call apply_patch_call"},
		{"hosted_mcp.json", "mcp_list_tools mcp_approval_request"},
	} {
		res, _, err := ask(t, newModel(t, replay(t, tt.file), nil), tt.file)
		if err != nil {
			t.Fatal(err)
		}
		var types, raws []string
		for _, it := range res.Items {
			types, raws = append(types, string(it.Type)), append(raws, string(it.Raw))
			if !strings.Contains(recorded(t, tt.file), string(it.Raw)) {
				t.Errorf("%s: not verbatim: %s", tt.file, it.Raw)
			}
		}
		if got := strings.Join(types, " "); got != tt.types {
			t.Errorf("%s: types %s", tt.file, got)
		}
		var c capture
		_, err = newModel(t, &c, nil).Respond(t.Context(), &agent.ModelRequest{Items: res.Items})
		if err != nil || !strings.Contains(c.body, `"input":[`+strings.Join(raws, ",")+`]`) {
			t.Errorf("%s: %v, sent %s", tt.file, err, c.body)
		}
	}
}

// kindsScript makes calls of every kind that the Responses API has, and tells what came of them.
func kindsScript() openaidev.Script {
	return openaidev.Script{
		MCP: []openaidev.MCPServer{{Label: "wiki", Tools: []openaidev.MCPTool{{Name: "ask", Output: "it is so"}}}},
		Rules: []openaidev.Rule{
			{Round: 0, Reply: openaidev.Reply{Reasoning: "Let me see.", Calls: []openaidev.Call{
				{Kind: openaidev.CallCustom, Name: "sql", Arguments: "SELECT 1", ID: "c"},
				{Kind: openaidev.CallShell, Arguments: `{"commands":["ls"]}`, ID: "s"},
				{Kind: openaidev.CallApplyPatch, Arguments: `{"type":"delete_file","path":"a"}`, ID: "p"},
				{Kind: openaidev.CallMCP, Server: "wiki", Name: "ask", Arguments: `{}`, ID: "mcpr_1"},
			}}},
			{Round: 1, Func: func(t *openaidev.Turn) (r openaidev.Reply) {
				for _, o := range t.Outputs {
					r.Text += o.Name + "=" + o.Text + ";"
				}
				return r
			}},
		},
	}
}

// The whole turn against a server that checks every item, streaming and not, with the conversation kept here and there.
func TestKindsAgainstTheServer(t *testing.T) {
	t.Parallel()
	tools := []agent.ToolDefinition{
		{Name: "sql", Wire: agent.WireCustom}, {Name: "shell", Wire: agent.WireShell},
		{Name: "apply_patch", Wire: agent.WireApplyPatch},
		{Name: "wiki", Wire: agent.WireHosted,
			Hosted: json.RawMessage(`{"type":"mcp","server_label":"wiki","server_url":"https://x"}`)},
	}
	outputs := []agent.Item{
		parsed(t, `{"type":"custom_tool_call_output","call_id":"c","output":"1"}`),
		parsed(t, `{"type":"shell_call_output","call_id":"s","output":[{"stdout":"a","stderr":"",`+
			`"outcome":{"type":"exit","exit_code":0}}]}`),
		parsed(t, `{"type":"apply_patch_call_output","call_id":"p","status":"completed"}`),
		parsed(t, `{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}`),
	}
	for _, streaming := range []bool{false, true} {
		for _, stored := range []bool{false, true} {
			s := serve(t, kindsScript())
			m := modelOf(t, s, func(c *openaimodel.Config) { c.Streaming = streaming })
			req := &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("go")}, Tools: tools, Stored: stored}
			first, err := m.Respond(t.Context(), req)
			if err != nil || first.ID == "" {
				t.Fatal(first, err)
			}
			next := &agent.ModelRequest{Items: outputs, Tools: tools, Stored: stored, PreviousResponseID: first.ID}
			if !stored {
				next.PreviousResponseID, next.Items = "", append(append(req.Items, first.Items...), outputs...)
			}
			second, err := m.Respond(t.Context(), next)
			const want = `sql=1;shell=[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}];` +
				`apply_patch=;ask=it is so;`
			if err != nil {
				t.Errorf("streaming %t, stored %t: %v", streaming, stored, err)
				continue
			}
			last := second.Items[len(second.Items)-1]
			if last.Text != want || second.Items[0].Type != "mcp_call" {
				t.Errorf("streaming %t, stored %t: %+v", streaming, stored, second.Items)
			}
		}
	}
}

// A conversation begun over one API goes on over the other.
func TestSwitchOfAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, openaidev.Script{Rules: []openaidev.Rule{
		{User: "^refuse", Reply: openaidev.Reply{Refusal: "I can't."}},
		{Round: 0, Reply: openaidev.Reply{Text: "Both at once.", Calls: []openaidev.Call{
			{Name: "pay", Arguments: `{"n": 1}`}, {Name: "pay", Arguments: `{"n": 2}`},
		}}},
		{Round: 1, Func: func(t *openaidev.Turn) (r openaidev.Reply) {
			for _, o := range t.Outputs {
				r.Text += o.Arguments + "=" + o.Text + ";"
			}
			return r
		}},
	}})
	tools := []agent.ToolDefinition{{Name: "pay", Parameters: json.RawMessage(`{"type":"object",` +
		`"properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}}
	for _, streaming := range []bool{false, true} {
		for _, order := range [][]openaimodel.API{
			{openaimodel.Responses, openaimodel.ChatCompletions}, {openaimodel.ChatCompletions, openaimodel.Responses},
		} {
			var items []agent.Item
			turn := 0
			ask := func() string {
				t.Helper()
				m := modelOf(t, s, func(c *openaimodel.Config) { c.Streaming, c.API = streaming, order[turn%2] })
				turn++
				res, err := m.Respond(t.Context(), &agent.ModelRequest{
					Instructions: "Pay.", Items: items, Tools: tools,
				})
				if err != nil {
					t.Fatalf("%v, turn %d: %v", order, turn, err)
				}
				saved, err := json.Marshal(append(items, res.Items...))
				if err != nil {
					t.Fatal(err)
				}
				items = nil
				if err := json.Unmarshal(saved, &items); err != nil {
					t.Fatal(err)
				}
				return items[len(items)-1].Text
			}
			items = append(items, agent.UserMessage("refuse this"))
			if text := ask(); text != "I can't." {
				t.Errorf("refusal %q", text)
			}
			for range 2 {
				items = append(items, agent.UserMessage("pay both"))
				ask()
				calls := items[len(items)-2:]
				if items[len(items)-3].Text != "Both at once." {
					t.Errorf("text before the calls: %+v", items)
				}
				items = append(items, agent.CallOutput(calls[1].CallID, "b"), agent.CallOutput(calls[0].CallID, "a"))
				text := ask()
				if text != `{"n": 1}=a;{"n": 2}=b;` && text != `{"n": 2}=b;{"n": 1}=a;` {
					t.Errorf("%v: %q", order, text)
				}
			}
		}
	}
}

// The words of a summary arrive, if they were asked for, and the text after them.
func TestReasoningSummary(t *testing.T) {
	t.Parallel()
	s := serve(t, openaidev.Script{
		Rules: []openaidev.Rule{{Reply: openaidev.Reply{Reasoning: "hm hm", Text: "so it is"}}},
	})
	var got []string
	m := modelOf(t, s, func(c *openaimodel.Config) { c.ReasoningSummary = "auto" })
	_, err := m.RespondStream(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}},
		func(d agent.ModelDelta) bool {
			got = append(got, d.Reasoning+"/"+d.Text)
			return true
		})
	if diff := cmp.Diff([]string{"hm /", "hm/", "/so ", "/it ", "/is"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"reasoning":{"summary":"auto"}`) {
		t.Errorf("sent %s", body)
	}
}
