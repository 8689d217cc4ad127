package bot

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// patcher is a tool whose calls depend on a file.
func patcher(contents *atomic.Value) agent.Tool {
	return agent.Tool{
		Name: "reload", Description: "Reloads the servers.", NeedsApproval: agent.AlwaysAsk, Version: "1",
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Preconditions: func(context.Context, *agent.ToolCall) ([]string, error) {
			return []string{"program /bin/sh sha256:77", "reload.sh sha256:" + contents.Load().(string)}, nil
		},
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: "reloaded"}, nil
		},
	}
}

func reload() []scripted.Step {
	return []scripted.Step{scripted.Calls(scripted.Call("call_1", "reload", `{"host":"web-1"}`)), scripted.Say("Done.")}
}

// TestStaleCardSaysWhatDiffers: the script changes after it was shown. The card keeps who had approved, and names what
// differs; the new question names the new contents.
func TestStaleCardSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	var contents atomic.Value
	contents.Store("aa")
	w := newWorldOf(t, []agent.Tool{patcher(&contents)}, reload()...)
	thread := w.mention("U0ANN", "reload", "")
	card := w.card(thread, 1)
	contents.Store("bb")
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	again := w.card(thread, 2)
	w.shown(card, "Stale", ": reload.sh changed after it was shown", "not run",
		"Asked again", "not:program /bin/sh)")
	w.shown(again, "sha256:bb", "not:Approved by")
	if err := w.click("U0BEN", again, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Done.")
}

// TestStaleCardNamesAChangedTool: an operator changes the tool between two approvals.
func TestStaleCardNamesAChangedTool(t *testing.T) {
	t.Parallel()
	var contents atomic.Value
	contents.Store("aa")
	w := startWorld(t, &world{
		policy: underName{rule{ofTheChannel, 2}, "two"},
		tools:  []agent.Tool{patcher(&contents)}, script: reload(),
	})
	thread := w.mention("U0ANN", "reload", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.tools[0].Version = "2"
	w.restart()
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.card(thread, 2)
	w.shown(card, "Stale", "the tool's definition (version) changed after it was shown", "Asked again",
		"not:depends on")
}

// TestStaleWithoutADifference: where nothing differs, or nothing is recorded of what does, the card claims none.
func TestStaleWithoutADifference(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	r.Status = approvals.RequestStale
	got := joined(staleLines(r)).fallback()
	if strings.Contains(got, "differs") || !strings.Contains(got, staleWords(r.Kind)) {
		t.Errorf("without a record: %s", got)
	}
	r.Replaced = &approvals.Replacement{ID: "req_01arz3ndektsv4rrffq69g5faw"}
	got = joined(staleLines(r)).fallback()
	if strings.Contains(got, "differs") || !strings.Contains(got, "unchanged") {
		t.Errorf("of the same call: %s", got)
	}
}
