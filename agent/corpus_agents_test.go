package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/history"
	"countersign/agent/scripted"
)

// The frozen states from version 2 on each have a script of their own; the id of the run says which.
var frozenRun = regexp.MustCompile(`"id":"run_(v[23]-[a-z-]+)"`)

// rootOf returns the agent that a state of the corpus was made with.
func rootOf(data []byte) *agent.Agent {
	if m := frozenRun.FindSubmatch(data); m != nil && frozenScript(string(m[1])) != nil {
		return corpusDesk(string(m[1]))
	}
	return corpusAgent()
}

// frozenTool returns a tool that is written out, so that its digest depends on nothing that may change.
func frozenTool(name string) agent.Tool {
	return agent.Tool{
		Name: name, Description: "Frozen.", Version: "1",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}}}`),
		Validate: func(arguments json.RawMessage) error {
			if !strings.HasPrefix(string(arguments), `{"amount":`) && !strings.HasPrefix(string(arguments), `{"to":`) {
				return errors.New("amount is missing")
			}
			return nil
		},
		Invoke: func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: c.Tool + " did " + string(c.Arguments) + " as " + c.EffectID}, nil
		},
	}
}

// frozenForm returns a tool of another form than a function.
func frozenForm(name string, kind agent.ToolKind, wire agent.WireForm) agent.Tool {
	return agent.Tool{
		Name: name, Description: "Frozen.", Kind: kind, Wire: wire, NeedsApproval: agent.AlwaysAsk,
		Invoke: func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if wire == agent.WireShell {
				return agent.ToolOutput{Failed: true, Native: json.RawMessage(
					`[{"stdout":"","stderr":"no <such> file","outcome":{"type":"exit","exit_code":2}}]`)}, nil
			}
			return agent.ToolOutput{Text: c.Tool + " did " + string(c.Arguments), Failed: true}, nil
		},
	}
}

// corpusDesk is the graph of agents of the states of version 2: desk uses clerk, which uses junior; desk and clerk hand
// over to billing, which goes on with their script.
func corpusDesk(script string) *agent.Agent {
	model := func(name string) agent.Model { return scripted.New(frozenScript(script)[name]...) }
	pay, look := frozenTool("pay"), frozenTool("look")
	pay.NeedsApproval = agent.AlwaysAsk
	pay.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) { return []string{"ledger <7>"}, nil }
	simple := frozenTool("pay")
	simple.NeedsApproval = agent.AlwaysAsk
	junior := &agent.Agent{Name: "junior", Model: model("junior"), Tools: []agent.Tool{simple}}
	clerk := &agent.Agent{
		Name: "clerk", Model: model("clerk"), Tools: []agent.Tool{simple, look, junior.AsTool("ask_junior", "Frozen.")},
	}
	billing := &agent.Agent{Name: "billing", Model: model("desk"), Tools: []agent.Tool{pay}}
	if script == "v2-nested-handoff" || script == "v2-nested-copies" {
		billing.Model = model("clerk")
	}
	clerk.Handoffs = []agent.Handoff{{Agent: billing, Name: "to_billing", Description: "Frozen."}}

	fill := frozenTool("fill")
	fill.NeedsApproval, fill.Fields = agent.AlwaysAsk, []string{"to"}
	propose := frozenTool("propose")
	propose.Proposed = []string{"amount", "to"}
	again := frozenTool("again")
	again.NeedsApproval = agent.AlwaysAsk
	again.InputGuardrails = []agent.ToolInputGuardrail{{Name: "again",
		Check: func(_ context.Context, c *agent.ToolCall) (guardrail.Verdict, error) {
			if c.AskedAgain == 0 {
				return guardrail.Verdict{Action: guardrail.AskAgain}, nil
			}
			return guardrail.Verdict{}, nil
		}}}
	review := frozenTool("review")
	review.NeedsApproval, review.Audit = agent.AlwaysAsk, true
	deploy := frozenTool("deploy")
	deploy.Kind, deploy.External, deploy.Invoke = agent.KindExternal, true, nil
	server := agent.NewHostedTool(agent.KindHostedMCP, "srv", json.RawMessage(
		`{"type":"mcp","server_label":"srv","server_url":"https://example.com","require_approval":"always"}`), nil)
	desk := &agent.Agent{
		Name: "desk", Model: model("desk"),
		Tools: []agent.Tool{
			pay, look, fill, again, review, deploy, server, clerk.AsTool("ask_clerk", "Frozen."),
			frozenForm("sh", agent.KindShell, agent.WireShell),
			frozenForm("fix", agent.KindApplyPatch, agent.WireApplyPatch),
			frozenForm("sql", agent.KindCustom, agent.WireCustom),
			propose,
		},
		Handoffs: []agent.Handoff{
			{Agent: billing, Name: "to_billing", Description: "Frozen.", Filter: history.DropToolItems},
		},
	}
	switch script {
	case "v2-nested-copies":
		clerk.Handoffs[0].Filter = history.DropToolItems
	case "v3-left-out":
		desk.Shorten, clerk.Shorten = keepTwo, keepTwo
	case "v2-nested-answer":
		clerk.OutputGuardrails = []agent.OutputGuardrail{{Name: "down",
			Check: func(ctx context.Context, _ *agent.Agent, _ string) (guardrail.Verdict, error) {
				return guardrail.Verdict{}, isDown(ctx)
			}}}
	case "v2-nested-final":
		desk.Tools[7].OutputGuardrails = []agent.ToolOutputGuardrail{{Name: "down",
			Check: func(ctx context.Context, _ *agent.ToolCall, _ agent.ToolOutput) (guardrail.Verdict, error) {
				return guardrail.Verdict{}, isDown(ctx)
			}}}
	case "v2-tool-use", "v2-turn-over", "v2-answer":
		desk.ToolUse.StopAt = []string{"look"}
	case "v2-conversation", "v2-chain":
		desk.Handoffs[0].Filter = nil
	}
	return desk
}

// keepTwo shows a model the newest two turns and what it was asked.
func keepTwo(_ context.Context, h *agent.History) error {
	for i := range h.Turns[:max(0, len(h.Turns)-2)] {
		h.Turns[i].LeaveOut = !h.Turns[i].Asked
	}
	return nil
}

// down is a context's key: what the state was waiting for was out of order when the state was made.
type down struct{}

func isDown(ctx context.Context) error {
	if ctx.Value(down{}) != nil {
		return errors.New("out of order")
	}
	return nil
}

type script map[string][]scripted.Step // by agent

// desk is a script of desk alone, which ends with words that mean nothing.
func desk(steps ...scripted.Step) script { return script{"desk": append(steps, scripted.Say("Done."))} }

// nested is a script of three agents inside each other.
var nested = script{
	"desk":   {calls("c1 ask_clerk", "c2 look 2"), scripted.Say("Done.")},
	"clerk":  {calls("n1 ask_junior", "n2 pay 3"), scripted.Say("Clerk is done.")},
	"junior": {calls("j1 pay 4", "j2 pay 5"), scripted.Say("Junior is done.")},
}

// corpusScripts are what the models of the states say.
var corpusScripts = map[string]script{
	"v2-nested":         nested,
	"v2-nested-decided": nested,
	"v2-nested-resumed": nested,
	"v2-nested-ended": {
		"desk":  {calls("c1 ask_clerk"), calls("c2 pay 2"), scripted.Say("Done.")},
		"clerk": {calls("n1 look 1"), scripted.Say("Clerk is done.")},
	},
	"v2-nested-handoff": {
		"desk":  {calls("c1 ask_clerk"), scripted.Say("Done.")},
		"clerk": {calls("n1 to_billing"), calls("n2 pay 2"), scripted.Say("Billed.")},
	},
	"v2-nested-copies": {
		"desk":  {calls("c1 ask_clerk"), scripted.Say("Done.")},
		"clerk": {speaking("I hand over.", "n1 to_billing"), calls("n2 pay 2"), scripted.Say("Billed.")},
	},
	"v2-nested-answer": {
		"desk":  {calls("c1 ask_clerk"), scripted.Say("Done.")},
		"clerk": {scripted.Say("Clerk is done.")},
	},
	"v2-nested-final": {
		"desk":  {calls("c1 ask_clerk"), scripted.Say("Done.")},
		"clerk": {scripted.Say("Clerk is done.")},
	},
	"v2-handed-off":      desk(calls("c1 look 1"), speaking("I hand over.", "c2 to_billing"), calls("c3 pay 3")),
	"v2-handoff-waits":   desk(speaking("I hand over.", "c1 to_billing", "c2 pay 2")),
	"v2-handoff-session": desk(speaking("I hand over.", "c1 to_billing"), calls("c2 pay 2")),
	"v2-facts":           desk(calls("c1 pay 1")),
	"v2-facts-unbound":   desk(calls("c1 pay 1", "c2 look 2")),
	"v2-edited":          desk(calls("c1 pay 1", "c2 pay 2")),
	"v2-edited-unknown":  desk(calls("c1 pay 1")),
	"v2-input":           desk(calls("c1 fill 1")),
	"v2-input-given":     desk(calls("c1 fill 1")),
	"v2-input-confirm":   desk(calls("c1 fill 1")),
	"v2-input-proposed":  desk(calls("c1 propose 1", "c2 propose 2")),
	"v2-external":        desk(calls("c1 deploy 1")),
	"v2-external-told":   desk(calls("c1 deploy 1")),
	"v2-asked-again":     desk(calls("c1 again 1")),
	"v2-review":          desk(calls("c1 review 1")),
	"v2-forms":           desk(forms),
	"v2-forms-decided":   desk(forms),
	"v2-forms-held":      desk(forms),
	"v2-pending-input":   desk(calls("c1 pay 1")),
	"v2-conversation":    desk(calls("c1 pay 1", "c2 look 2")),
	"v2-chain":           desk(calls("c1 look 1"), calls("c2 pay 2", "c3 to_billing")),
	"v2-tool-use":        desk(calls("c1 pay 1", "c2 look 2")),
	"v2-turn-over":       desk(calls("c1 look 1")),
	"v2-answer":          desk(calls("c1 look 1")),
	"v3-handled":         desk(calls("c1 look 1", "c2 pay 2")),
	"v3-left-out": {
		"desk": {calls("c1 look 1"), calls("c2 look 2"), calls("c3 look 3"),
			calls("c4 ask_clerk"), scripted.Say("Done.")},
		"clerk": {
			calls("n1 look 1"), calls("n2 look 2"), calls("n3 look 3", "n4 look 4"), calls("n5 pay 5"),
			scripted.Say("Clerk is done."),
		},
	},
}

// forms is a step of a call of each other form.
var forms = scripted.Calls(
	raw(`{"type":"mcp_list_tools","id":"scripted_0_0","server_label":"srv",`+
		`"tools":[{"name":"search","input_schema":{"type":"object"}}]}`),
	raw(`{"type":"custom_tool_call","id":"scripted_0_1","call_id":"q1","name":"sql","input":"select \"1\""}`),
	raw(`{"type":"shell_call","id":"scripted_0_2","call_id":"s1","action":{"commands":["ls"],"timeout_ms":null}}`),
	raw(`{"type":"apply_patch_call","id":"scripted_0_3","call_id":"p1",`+
		`"operation":{"type":"delete_file","path":"a.txt"}}`),
	raw(`{"type":"mcp_approval_request","id":"scripted_0_4","server_label":"srv","name":"search",`+
		`"arguments":"{\"q\":1}"}`),
)

func raw(text string) agent.Item {
	it, err := agent.ParseItem(json.RawMessage(text))
	if err != nil {
		panic(err)
	}
	return it
}

// speaking is a step of a message and calls.
func speaking(text string, list ...string) scripted.Step {
	step := calls(list...)
	step.Items = append([]agent.Item{agent.AssistantMessage(text)}, step.Items...)
	return step
}

// frozenInput fills in what a question asks for.
func frozenAnswer(in agent.Interruption) agent.ApproveOptions {
	switch in.Kind {
	case agent.FieldsRequired:
		return agent.ApproveOptions{Fields: json.RawMessage(`{"to":"a"}`)}
	case agent.ExternalResult:
		return agent.ApproveOptions{Output: &agent.ToolOutput{Text: "deployed", Failed: true}}
	}
	return agent.ApproveOptions{}
}

func approve(t *testing.T, s *agent.RunState, id string, opts agent.ApproveOptions) {
	t.Helper()
	for _, in := range s.Interruptions() {
		if in.Call.ID == id {
			must(t, s.Approve(in, opts))
			return
		}
	}
	t.Fatalf("no question about %s", id)
}
