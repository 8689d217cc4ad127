package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// silent is a tool that sends something off and hears nothing.
func silent() agent.Tool {
	return agent.Tool{
		Name: "wire", Description: "Transfers between banks.", NeedsApproval: agent.AlwaysAsk,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{}, fmt.Errorf("the bank does not answer: %w", agent.ErrOutcomeUnknown)
		},
	}
}

// fill submits the form that the button opens.
func (w *world) fill(user string, card slackdev.Message, button, text string) {
	w.t.Helper()
	if err := w.click(user, card, button); err != nil {
		w.t.Fatal(err)
	}
	form := w.modalOf(user, button)
	if _, err := w.slack.Submit(w.ctx(), user, form.ID, reasoned(text)); err != nil {
		w.t.Fatal(err)
	}
}

// TestReportedOutcomeIsNobodysClock: nobody knows when the call ran of which Cleo reports that it did. Neither card
// shows the time of her press as if it had run then.
func TestReportedOutcomeIsNobodysClock(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, []agent.Tool{silent()},
		scripted.Calls(scripted.Call("call_1", "wire", `{"amount":5}`)), scripted.Say("So it is."))
	thread := w.mention("U0ANN", "wire five", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	question := w.card(thread, 2)
	w.shown(card, "unknown")
	w.fill("U0CLEO", question, "mark_done", "The statement shows it.")
	w.said(thread, "So it is.")
	w.shown(question, "ran, as @U0CLEO reports")
	w.shown(card, "Approved by @U0BEN", "ran, as @U0CLEO reports")
}

// TestRanByItselfHasItsTime is the control: what the tool itself says has a time and no reporter.
func TestRanByItselfHasItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Paid."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(card, " · ran ", "not:reports")
}

// TestTriedAgainInVainLeadsOn: the call is tried again, and nobody knows of that either what became of it. The card on
// which that was decided leads to the one that asks now, as the first one does.
func TestTriedAgainInVainLeadsOn(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, []agent.Tool{silent()},
		scripted.Calls(scripted.Call("call_1", "wire", `{"amount":5}`)), scripted.Say("So it is."))
	thread := w.mention("U0ANN", "wire five", "")
	if err := w.click("U0BEN", w.card(thread, 1), "approve"); err != nil {
		t.Fatal(err)
	}
	question := w.card(thread, 2)
	if err := w.click("U0CLEO", question, "retry"); err != nil {
		t.Fatal(err)
	}
	last := w.card(thread, 3)
	w.shown(question, "to run again", "unknown whether it ran; the thread says more")
	w.fill("U0CLEO", last, "give_up", "Nobody knows.")
	w.said(thread, "So it is.")
	w.shown(last, "given up", "unknown whether it ran", "not:the thread says more")
}
