package bot

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// endless is a tool whose calls go on until they are stopped.
func endless() agent.Tool {
	return agent.Tool{
		Name: "wire", Description: "Transfers between banks.", NeedsApproval: agent.AlwaysAsk,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Invoke: func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			<-ctx.Done()
			return agent.ToolOutput{}, ctx.Err()
		},
	}
}

// offersCancel opens the details of the card for the user, and reports whether they offer to cancel the run.
func (w *world) offersCancel(user string, thread string) bool {
	w.t.Helper()
	if err := w.click(user, w.card(thread, 1), "show_details"); err != nil {
		w.t.Fatal(err)
	}
	var blocks string
	w.eventually("the details", func() bool {
		blocks = string(w.modalOf(user, viewDetails).Blocks)
		return strings.Contains(blocks, "bytes of arguments")
	})
	return strings.Contains(blocks, `"cancel_run"`)
}

// TestRunIsCancelledWhileItsCallRuns: the call was approved and runs. Ann, who asked for it, finds the way to end the
// run in the details of its card, and nobody else does, since nobody else may.
func TestRunIsCancelledWhileItsCallRuns(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, []agent.Tool{endless()},
		scripted.Calls(scripted.Call("call_1", "wire", `{"amount":5}`)), scripted.Say("Done."))
	thread := w.mention("U0ANN", "wire five", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(card, wordsRunning)
	if w.offersCancel("U0BEN", thread) {
		t.Error("Ben, who may not cancel the run, is offered to")
	}
	if !w.offersCancel("U0ANN", thread) {
		t.Fatal("Ann finds no way to cancel her run")
	}
	if err := w.clickIn("U0ANN", w.modalOf("U0ANN", viewDetails), "cancel_run"); err != nil {
		t.Fatal(err)
	}
	w.noticeIn(thread, "cancelled the run")
}

// TestEndedRunOffersNoCancel is the control: what has ended cannot be cancelled.
func TestEndedRunOffersNoCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Paid."))
	thread := w.mention("U0ANN", "pay acme", "")
	w.approve(thread, w.card(thread, 1), "Paid.")
	w.shown(w.card(thread, 1), wordsRan)
	if w.offersCancel("U0ANN", thread) {
		t.Error("a run that has ended can be cancelled")
	}
}
