package history_test

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/history"
)

// TestCloseCalls gives every call without an output one in its own form, and leaves the others as they are.
func TestCloseCalls(t *testing.T) {
	t.Parallel()
	parse := func(raw string) agent.Item {
		it, err := agent.ParseItem(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	items := []agent.Item{
		agent.UserMessage("go"),
		parse(`{"type":"function_call","call_id":"f1","name":"pay","arguments":"{}"}`),
		parse(`{"type":"function_call","call_id":"f2","name":"pay","arguments":"{}"}`),
		parse(`{"type":"custom_tool_call","call_id":"t1","name":"note","input":"x"}`),
		parse(`{"type":"shell_call","call_id":"s1","action":{"commands":["ls"],"max_output_length":10}}`),
		parse(`{"type":"apply_patch_call","call_id":"p1","operation":{"type":"delete_file","path":"a"}}`),
		parse(`{"type":"mcp_approval_request","id":"m1","server_label":"docs","name":"ask","arguments":"{}"}`),
		agent.CallOutput("f1", "paid"),
	}
	var got []string
	closed := history.CloseCalls(items, notRun("no result"))
	for _, it := range closed[len(items):] {
		got = append(got, string(it.Wire()))
	}
	want := []string{
		`{"type":"function_call_output","call_id":"f2","output":"no result"}`,
		`{"type":"custom_tool_call_output","call_id":"t1","output":"no result"}`,
		`{"type":"shell_call_output","call_id":"s1","output":[{"stdout":"","stderr":"no result",` +
			`"outcome":{"type":"exit","exit_code":1}}],"max_output_length":10}`,
		`{"type":"apply_patch_call_output","call_id":"p1","status":"failed","output":"no result"}`,
		`{"type":"mcp_approval_response","approval_request_id":"m1","approve":false,"reason":"no result"}`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := history.CloseCalls(closed, notRun("again")); len(again) != len(closed) {
		t.Errorf("closed calls were closed once more: %d items, then %d", len(closed), len(again))
	}
}

// notRun says of every call that it was not carried out.
func notRun(text string) func(agent.Item) agent.ToolOutput {
	return func(call agent.Item) agent.ToolOutput {
		return agent.ToolOutput{Text: text, Failed: call.Type != agent.ItemFunctionCall}
	}
}

// TestCloseCallsOfOneID closes each of several calls that have the same id.
func TestCloseCallsOfOneID(t *testing.T) {
	t.Parallel()
	call := agent.Item{Type: agent.ItemFunctionCall, CallID: "call_0", Name: "look", Arguments: "{}"}
	items := []agent.Item{call, agent.CallOutput("call_0", "seen"), call, call}
	closed := history.CloseCalls(items, notRun("no result"))
	var got []string
	for _, it := range closed {
		got = append(got, string(it.Type)+" "+it.Output)
	}
	want := []string{"function_call ", "function_call_output seen", "function_call ", "function_call ",
		"function_call_output no result", "function_call_output no result"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := history.CloseCalls(closed, notRun("again")); len(again) != len(closed) {
		t.Errorf("closed twice: %+v", again)
	}
}

// TestCloseOpenApprovals closes a call that a provider was told to carry out and has not answered; one that it has
// answered stays as it is.
func TestCloseOpenApprovals(t *testing.T) {
	t.Parallel()
	parse := func(raw string) agent.Item {
		it, err := agent.ParseItem(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	asked := parse(`{"type":"mcp_approval_request","id":"m1","server_label":"docs","name":"ask","arguments":"{}"}`)
	approved := asked.Answer(agent.ToolOutput{})
	said := parse(`{"type":"mcp_call","id":"c1","server_label":"docs","name":"ask","arguments":"{}","output":"so"}`)
	for name, items := range map[string][]agent.Item{
		"open": {asked, approved}, "more was said": {asked, approved, agent.UserMessage("and?")},
		"answered": {asked, approved, said, agent.UserMessage("and?")},
	} {
		closed := history.CloseCalls(items, notRun("not known"))
		want := "rejected: not known"
		if name == "answered" {
			want = "approved"
		}
		if len(closed) != len(items) || closed[1].Output != want || items[1].Output != "approved" {
			t.Errorf("%s: %+v", name, closed)
		}
	}
}
