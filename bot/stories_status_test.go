package bot

import (
	"context"
	"encoding/json"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/toolstatus"
)

// answering is a tool whose calls end with the output.
func answering(out agent.ToolOutput) agent.Tool {
	return agent.Tool{
		Name: "call", Description: "Calls.", NeedsApproval: agent.AlwaysAsk,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) { return out, nil },
	}
}

// TestSettledCardSaysHowTheCallEnded: what became of a call stands on its card in numbers, as far as the tool has told,
// and never what the tool answered.
func TestSettledCardSaysHowTheCallEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed bool
		status toolstatus.Status
		says   string
	}{
		"answered": {false, toolstatus.Status{HTTP: 200}, ", answered 200"},
		"refused":  {true, toolstatus.Status{HTTP: 422}, ": HTTP 422 (the agent was told)"},
		"left open": {true, toolstatus.Status{HTTP: 504},
			": HTTP 504 (the agent was told); it may have acted all the same"},
		"exited":    {false, toolstatus.Status{Exited: true, Lines: 12}, ", exit code 0, 12 lines"},
		"broke":     {true, toolstatus.Status{Exited: true, ExitCode: 1}, ": exit code 1 ("},
		"cut short": {true, toolstatus.Status{TimedOut: true}, ": its time was up ("},
		"changed":   {false, toolstatus.Status{Files: 2}, ", 2 files"},
		"no word":   {true, toolstatus.Status{}, " (the agent was told)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := agent.ToolOutput{Text: "what it printed", Failed: c.failed, Status: c.status}
			w := newWorldOf(t, []agent.Tool{answering(out)},
				scripted.Calls(scripted.Call("call_1", "call", `{}`)), scripted.Say("So it is."))
			card := w.card(w.mention("U0ANN", "call", ""), 1)
			if err := w.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			w.shown(card, c.says, "not:printed")
			if !c.status.MayHaveActed() {
				w.shown(card, "not:may have acted")
			}
		})
	}
}
