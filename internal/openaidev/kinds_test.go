package openaidev_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

func answered(t *testing.T, h http.Handler, body string) reply {
	t.Helper()
	status, r := post(t, h, body)
	if status != 200 {
		t.Fatalf("%d %s\n%s", status, r.Error.Message, body)
	}
	return r
}

func typesOf(t *testing.T, items []json.RawMessage) string {
	t.Helper()
	var types []string
	for _, raw := range items {
		var it struct{ Type string }
		if err := json.Unmarshal(raw, &it); err != nil {
			t.Fatal(err)
		}
		types = append(types, it.Type)
	}
	return strings.Join(types, " ")
}

// A response that was kept goes on with what is new alone.
func TestPreviousResponse(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Demo())
	first := answered(t, h, `{"model":"m","store":true,"tools":`+demoTools+`,"input":"what is the balance?"}`)
	var asked callItem
	if err := json.Unmarshal(first.Output[0], &asked); err != nil || asked.CallID == "" {
		t.Fatal(err, first)
	}
	output := `{"type":"function_call_output","call_id":"` + asked.CallID + `","output":"{\"balance\":12}"}`
	next := func(id, input string) string {
		return `{"model":"m","store":true,"tools":` + demoTools + `,"previous_response_id":"` + id +
			`","input":[` + input + `]}`
	}
	second := answered(t, h, next(first.ID, output))
	if !strings.Contains(string(second.Output[0]), "The balance of the operations account is 12.") {
		t.Errorf("answer %s", second.Output[0])
	}
	for _, tt := range []struct{ why, body, want string }{
		{"an output that the server has", next(second.ID, output), "Duplicate function call output"},
		{"a call that the server has", next(first.ID, string(first.Output[0])+","+output), "Duplicate function call"},
		{"an item that the server has", next(second.ID, string(second.Output[0])), "Duplicate item found"},
		{"no output", next(first.ID, `{"role":"user","content":"hello"}`), "No tool output found"},
		{"a response that is not there", next("resp_unknown", output),
			"Previous response with id 'resp_unknown' not found."},
		{"two ways to go on", strings.Replace(next(first.ID, output), `"store":true`, `"conversation":"conv_1"`, 1),
			"Mutually exclusive"},
	} {
		if status, r := post(t, h, tt.body); status != 400 || !strings.Contains(r.Error.Message, tt.want) {
			t.Errorf("%s: %d %q", tt.why, status, r.Error.Message)
		}
	}
	not := answered(t, h, `{"model":"m","store":false,"input":"hello"}`)
	status, r := post(t, h, next(not.ID, `{"role":"user","content":"x"}`))
	if status != 400 || !strings.Contains(r.Error.Message, "not found") {
		t.Errorf("a response that was not kept: %d %q", status, r.Error.Message)
	}
	status, data := call(t, h, http.MethodDelete, "/v1/responses/"+first.ID, "")
	if status != 200 || !strings.Contains(data, `"deleted":true`) {
		t.Errorf("delete: %d %s", status, data)
	}
	status, r = post(t, h, next(first.ID, output))
	if status != 400 || !strings.Contains(r.Error.Message, "not found") {
		t.Errorf("a response that was deleted: %d %q", status, r.Error.Message)
	}
}

// A conversation grows by what is said in it, and by nothing that failed.
func TestConversation(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Script{Rules: []openaidev.Rule{
		{User: "fail", Reply: openaidev.Reply{Failed: "server_error"}},
		{Round: openaidev.AnyRound, Func: func(t *openaidev.Turn) openaidev.Reply {
			return openaidev.Reply{Text: fmt.Sprintf("after %d: %s", len(t.Earlier), t.User)}
		}},
	}})
	status, data := call(t, h, http.MethodPost, "/v1/conversations", `{"items":[{"role":"user","content":"zero"}]}`)
	var c struct{ ID, Object string }
	if err := json.Unmarshal([]byte(data), &c); err != nil || status != 200 || c.Object != "conversation" {
		t.Fatal(status, data)
	}
	say := func(text, conversation string) (int, reply) {
		return post(t, h,
			`{"model":"m","conversation":`+conversation+`,"input":[{"role":"user","content":"`+text+`"}]}`)
	}
	for i, text := range []string{"one", "fail", "two"} {
		conversation := `"` + c.ID + `"`
		if i == 2 {
			conversation = `{"id":` + conversation + `}`
		}
		status, r := say(text, conversation)
		want := map[string]string{"one": "after 1: one", "two": "after 2: two"}[text]
		if status != 200 || want != "" && !strings.Contains(string(r.Output[0]), want) {
			t.Errorf("%s: %d %+v", text, status, r)
		}
	}
	if status, _ := call(t, h, http.MethodDelete, "/v1/conversations/"+c.ID, ""); status != 200 {
		t.Errorf("delete: %d", status)
	}
	gone := "Conversation with id '" + c.ID + "' not found."
	if status, r := say("three", `"`+c.ID+`"`); status != 404 || !strings.Contains(r.Error.Message, gone) {
		t.Errorf("deleted: %d %q", status, r.Error.Message)
	}
	if status, _ := call(t, h, http.MethodDelete, "/v1/conversations/"+c.ID, ""); status != 404 {
		t.Errorf("delete again: %d", status)
	}
}

const kindsTools = `[{"type":"custom","name":"sql"},{"type":"shell","environment":{"type":"local"}},` +
	`{"type":"apply_patch"}]`

// Calls of every kind are made, streamed, answered in their own form and read by the script.
func TestKindsOfCalls(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Script{Rules: []openaidev.Rule{
		{Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{
			{Kind: openaidev.CallCustom, Name: "sql", Arguments: "SELECT 1", ID: "c"},
			{Kind: openaidev.CallShell, ID: "s",
				Arguments: `{"commands":["ls"],"timeout_ms":null,"max_output_length":null}`},
			{Kind: openaidev.CallApplyPatch, Arguments: `{"type":"delete_file","path":"a"}`, ID: "p"},
		}}},
		{Round: 1, Func: func(t *openaidev.Turn) (r openaidev.Reply) {
			for _, o := range t.Outputs {
				r.Text += o.Name + "(" + o.Arguments + ")=" + o.Text + ";"
			}
			return r
		}},
	}})
	first := answered(t, h, `{"model":"m","tools":`+kindsTools+`,"input":"go"}`)
	if got := typesOf(t, first.Output); got != "custom_tool_call shell_call apply_patch_call" {
		t.Fatalf("types %s", got)
	}
	_, streamed := call(t, h, http.MethodPost, "/v1/responses",
		`{"model":"m","stream":true,"tools":`+kindsTools+`,"input":"go"}`)
	for _, it := range first.Output {
		if !strings.Contains(streamed, string(it)) {
			t.Errorf("the stream has no %s", it)
		}
	}
	if !strings.Contains(streamed, `"type":"response.custom_tool_call_input.delta"`) {
		t.Error("the input of a custom tool is not streamed")
	}
	outputs := []string{
		`{"type":"custom_tool_call_output","call_id":"c","output":"1"}`,
		`{"type":"shell_call_output","call_id":"s","output":[{"stdout":"a","stderr":"",` +
			`"outcome":{"type":"exit","exit_code":0}}]}`,
		`{"type":"apply_patch_call_output","call_id":"p","status":"failed","output":"no such file"}`,
	}
	with := func(outputs ...string) string {
		return `{"model":"m","input":[{"role":"user","content":"go"},` + strings.Trim(join(first.Output), "[]") + `,` +
			strings.Join(outputs, ",") + `]}`
	}
	last := answered(t, h, with(outputs...))
	var it callItem
	if err := json.Unmarshal(last.Output[0], &it); err != nil {
		t.Fatal(err)
	}
	const want = `sql(SELECT 1)=1;shell({"commands":["ls"],"timeout_ms":null,"max_output_length":null})=` +
		`[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}];` +
		`apply_patch({"type":"delete_file","path":"a"})=no such file;`
	if it.Content[0].Text != want {
		t.Errorf("text %s", it.Content[0].Text)
	}
	change := func(i int, from, to string) string {
		changed := append([]string{}, outputs...)
		changed[i] = strings.Replace(changed[i], from, to, 1)
		if changed[i] == outputs[i] {
			t.Fatalf("%q is not in %s", from, outputs[i])
		}
		return with(changed...)
	}
	for _, tt := range []struct{ why, body, want string }{
		{"a function's output for a custom tool", change(0, "custom_tool_call_output", "function_call_output"),
			"No tool call found for function call output with call_id c"},
		{"a shell output for a patch", change(1, `"s"`, `"p"`), "No tool call found for shell call output"},
		{"a shell output that is a text",
			change(1, `[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]`, `"a"`),
			"expected an array"},
		{"a shell output without an exit code", change(1, `,"exit_code":0`, ``), "stdout, stderr and outcome"},
		{"a shell output without stderr", change(1, `"stderr":"",`, ``), "stdout, stderr and outcome"},
		{"a patch output without a status", change(2, `"status":"failed",`, ``), "'completed' and 'failed'"},
		{"a custom output that is an object", change(0, `"1"`, `{"a":1}`), "expected a string"},
		{"no output of a shell call", with(outputs[0], outputs[2]), "No tool output found for shell call s"},
		{"no output of a custom call", with(outputs[1], outputs[2]), "No tool output found for custom tool call c"},
		{"no output of a patch", with(outputs[0], outputs[1]), "No tool output found for apply patch call p"},
		{"two outputs", with(append(outputs, outputs[1])...), "Duplicate shell call output"},
	} {
		if status, r := post(t, h, tt.body); status != 400 || !strings.Contains(r.Error.Message, tt.want) {
			t.Errorf("%s: %d %q", tt.why, status, r.Error.Message)
		}
	}
}

// Tools and formats of every kind are checked as the API does.
func TestKindsOfTools(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Script{})
	for _, tt := range []struct{ why, body, want string }{
		{"a custom tool without a name", `{"model":"m","tools":[{"type":"custom"}],"input":"x"}`, "tools[0].name"},
		{"an unknown environment",
			`{"model":"m","tools":[{"type":"shell","environment":{"type":"moon"}}],"input":"x"}`, "'moon'"},
		{"a choice of what is not there",
			`{"model":"m","tools":[{"type":"shell"}],"tool_choice":{"type":"apply_patch"},"input":"x"}`,
			"not found in 'tools'"},
		{"a format that is not strict", `{"model":"m","text":{"format":{"type":"json_schema","name":"n",` +
			`"strict":true,"schema":{"type":"object"}}},"input":"x"}`, "Invalid schema for response_format 'n'"},
		{"a format without a name",
			`{"model":"m","text":{"format":{"type":"json_schema","schema":{"type":"object"}}},"input":"x"}`,
			"text.format.name"},
	} {
		if status, r := post(t, h, tt.body); status != 400 || !strings.Contains(r.Error.Message, tt.want) {
			t.Errorf("%s: %d %q", tt.why, status, r.Error.Message)
		}
	}
}

func mcpScript() openaidev.Script {
	return openaidev.Script{
		MCP: []openaidev.MCPServer{
			{Label: "wiki", Tools: []openaidev.MCPTool{{Name: "ask", Description: "Asks.", Output: "it is so"}}},
		},
		Rules: []openaidev.Rule{
			{Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{
				{Kind: openaidev.CallMCP, Server: "wiki", Name: "ask", Arguments: `{"q":"why"}`, ID: "mcpr_1"},
			}}},
			{Round: 1, Reply: openaidev.Reply{Text: "I was told: $output"}},
		},
	}
}

// The server lists the tools, asks for approval, and makes an approved call itself.
func TestHostedMCP(t *testing.T) {
	t.Parallel()
	h := handler(t, mcpScript())
	body := func(approval string, input ...string) string {
		return `{"model":"m","tools":[{"type":"mcp","server_label":"wiki","server_url":"https://x"` + approval +
			`}],"input":[{"role":"user","content":"go"}` +
			strings.Join(append([]string{""}, input...), ",") + `]}`
	}
	for _, always := range []string{
		``, `,"require_approval":"always"`, `,"require_approval":{"never":{"tool_names":["other"]}}`,
	} {
		first := answered(t, h, body(always))
		if got := typesOf(t, first.Output); got != "mcp_list_tools mcp_approval_request" {
			t.Fatalf("%s: types %s", always, got)
		}
	}
	for _, never := range []string{
		`,"require_approval":"never"`, `,"require_approval":{"never":{"tool_names":["ask"]}}`,
	} {
		if got := typesOf(t, answered(t, h, body(never)).Output); got != "mcp_list_tools mcp_call" {
			t.Errorf("%s: types %s", never, got)
		}
	}
	first := answered(t, h, body(""))
	for _, tt := range []struct{ response, types, text string }{
		{`{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}`,
			"mcp_call message", "I was told: it is so"},
		{`{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":false,"reason":"too dear"}`,
			"message", "I was told: denied too dear"},
	} {
		res := answered(t, h, body("", string(first.Output[0]), string(first.Output[1]), tt.response))
		got := typesOf(t, res.Output)
		if got != tt.types || !strings.Contains(string(res.Output[len(res.Output)-1]), tt.text) {
			t.Errorf("%s: %s", tt.response, res.Output)
		}
		again := answered(t, h, body("", string(first.Output[0]), string(first.Output[1]), tt.response,
			strings.Trim(join(res.Output), "[]"), `{"role":"user","content":"more"}`))
		if got := typesOf(t, again.Output); got != "mcp_approval_request" {
			t.Errorf("the next turn: %s", got)
		}
	}
	for i, tt := range []struct{ body, want string }{
		{body("", string(first.Output[0]), string(first.Output[1])),
			"No response found for MCP approval request mcpr_1"},
		{body("", `{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}`),
			"No MCP approval request found"},
		{body("", string(first.Output[1]), `{"type":"mcp_approval_response","approval_request_id":"mcpr_1"}`),
			"approve"},
		{body(`,"require_approval":"sometimes"`), "require_approval"},
		{body(`,"require_approval":{}`), "require_approval"},
		{body(`,"require_approval":{"never":{}}`), "require_approval"},
		{`{"model":"m","tools":[{"type":"mcp","server_label":"wiki"}],"input":"x"}`, "server_url"},
		{`{"model":"m","tools":[{"type":"mcp","server_url":"https://x"}],"input":"x"}`, "server_label"},
	} {
		if status, r := post(t, h, tt.body); status != 400 || !strings.Contains(r.Error.Message, tt.want) {
			t.Errorf("%d: %d %q, want %q", i, status, r.Error.Message, tt.want)
		}
	}
	status, r := post(t, h, fmt.Sprintf(`{"model":"m","input":%q}`, "go"))
	if status != 500 || !strings.Contains(r.Error.Message, `no MCP server "wiki"`) {
		t.Errorf("a script without its server: %d %q", status, r.Error.Message)
	}
}

func TestMissingTools(t *testing.T) {
	t.Parallel()
	turn := &openaidev.Turn{Tools: []string{"a", "b"}}
	if got := turn.Missing("a", "b"); got != "" {
		t.Errorf("missing %q", got)
	}
	if got := turn.Missing("b", "c", "d"); got != "c" {
		t.Errorf("missing %q, want c", got)
	}
}
