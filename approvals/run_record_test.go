package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals"
)

// TestReadRun has what was asked, decided and done in a run, what guardrails did, and none of the arguments.
func TestReadRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tools := b.tools()
	tools[0] = guarded(tools[0], "ceiling", func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
		return guardrail.Verdict{Message: strings.Repeat("é", 400)}, nil
	})
	// Numbers that no digest, id or instant has by chance.
	const first, second = "471147114711471", "471247124712471"
	b.agent(asks(call("c1", "pay", `{"amount":`+first+`}`), call("c2", "note", `{"amount":`+second+`}`)), tools...)
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	rec, err := approvals.ReadRun(t.Context(), b.store, ws, id)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Status != approvals.RunDone || len(rec.Requests) != 1 || rec.Requests[0].Outcome != approvals.OutcomeRan ||
		rec.Requests[0].Settler().By != bob || rec.Turns != 2 {
		t.Errorf("run %s, %d turns, requests %+v", rec.Status, rec.Turns, rec.Requests)
	}
	outcomes := map[string]bool{}
	for _, e := range rec.Effects {
		outcomes[e.Tool] = e.Outcome == approvals.OutcomeRan && e.Output != (agent.Digest{}) && !e.Done.IsZero() &&
			e.OutputBytes > 0 && e.Milliseconds == e.Done.Sub(e.Intent).Milliseconds() &&
			(e.Tool == "note") == (e.Authority == (approvals.Authority{}))
	}
	if len(rec.Effects) != 2 || !outcomes["pay"] || !outcomes["note"] {
		t.Errorf("effects %+v", rec.Effects)
	}
	if n := len(rec.Guardrails); n != 1 || rec.Guardrails[0].Guardrail != "ceiling" ||
		len([]rune(rec.Guardrails[0].Message)) != 300 {
		t.Errorf("guardrails %+v", rec.Guardrails)
	}
	text, err := json.Marshal(rec)
	var top struct{ ID, Status string }
	if err = errors.Join(err, json.Unmarshal(text, &top)); err != nil || top.ID != string(id) || top.Status != "done" {
		t.Errorf("as JSON: %+v, %v", top, err)
	}
	if strings.Contains(string(text), first) || strings.Contains(string(text), second) {
		t.Errorf("arguments are in %s", text)
	}
	if _, err := approvals.ReadRun(t.Context(), b.store, ws, "run_absent"); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}

// TestReadRunKnowsWhatPeopleFoundOut: a call of which no output came is not running for ever: nobody knows what became
// of it while people are asked, and then it is what they say.
func TestReadRunKnowsWhatPeopleFoundOut(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[approvals.Verdict]approvals.Outcome{
		approvals.MarkDone: approvals.OutcomeRan, approvals.GiveUp: approvals.OutcomeUnknown,
	} {
		b := newBench(t)
		tools := b.tools()
		tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{}, fmt.Errorf("no answer: %w", agent.ErrOutcomeUnknown)
		}
		b.agent(asks(call("c1", "pay", `{}`)), tools...)
		b.start()
		id := b.submit()
		b.must(b.question(id), bob, approvals.Approve, "")
		outcome := func() approvals.Outcome {
			rec, err := approvals.ReadRun(b.Context(), b.store, ws, id)
			if err != nil || len(rec.Effects) != 1 {
				t.Fatalf("%+v, %v", rec, err)
			}
			return rec.Effects[0].Outcome
		}
		b.until("the question what became of it", func() bool {
			open := b.pending(id)
			return len(open) == 1 && open[0].Kind == agent.OutcomeUnknown
		})
		if got := outcome(); got != approvals.OutcomeUnknown {
			t.Errorf("while people are asked: %s", got)
		}
		b.must(b.pending(id)[0], cara, verdict, "receipt 7")
		b.reaches(id, approvals.RunDone)
		if got := outcome(); got != want {
			t.Errorf("%s: %s, want %s", verdict, got, want)
		}
	}
}

// TestAuditedCallsAreMarked has a call that runs at once and is to be looked at afterwards.
func TestAuditedCallsAreMarked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tools := b.tools()
	tools[0].Audit = true
	b.agent(asks(call("c1", "pay", `{}`), call("c2", "note", `{}`)), tools...)
	b.start()
	id := b.submit()
	b.reaches(id, approvals.RunDone)
	rec, err := approvals.ReadRun(t.Context(), b.store, ws, id)
	if err != nil || len(rec.Requests) != 0 || len(rec.Effects) != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	for _, e := range rec.Effects {
		if e.Review != (e.Tool == "pay") {
			t.Errorf("%s: to be reviewed %t", e.Tool, e.Review)
		}
	}
}
