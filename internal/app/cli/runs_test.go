package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

// newRuns is a desk on a store with a run that was cancelled, with all that can be told of it, and one that waits.
func newRuns(t *testing.T) *control.Local {
	t.Helper()
	desk := newDesk(t, newRequest("req_1", stands(approvals.RequestApproved, approvals.OutcomeRan),
		func(r *approvals.Request) {
			r.Decisions = []approvals.Decision{{By: "T1/U2", Verdict: approvals.Approve, Via: "button", At: settled,
				Reason: "fine\u202e"}}
		}))
	place := approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}
	err := desk.Store.Update(t.Context(), func(tx approvals.Tx) error {
		r := &approvals.Run{
			Workspace: "T1", ID: "run_1", Place: place, Agent: "ops", Requester: "T1/U1",
			Status: approvals.RunCancelled,
			Input:  "pay\x1b[31m 5", Failure: "The run was cancelled. Carried out before that: pay.",
			CancelledBy: "T1/U2",
			Created:     asked, Ended: asked.Add(90 * time.Second), Turns: 3, RetriedAs: "run_2",
			Usage: agent.Usage{Requests: 4, InputTokens: 100, OutputTokens: 20, TotalTokens: 120},
			Guardrails: []approvals.GuardrailVerdict{{Stage: "tool_input", Guardrail: "ceiling",
				Agent: "ops", Tool: "pay",
				Action: "ask_again", Message: "a large one"}},
		}
		if err := tx.PutRun(r); err != nil {
			return err
		}
		r.ID, r.Status, r.Ended, r.CancelledBy, r.RetriedAs, r.RetryOf = "run_2", approvals.RunWaiting, time.Time{}, "",
			"", "run_1"
		if err := tx.PutRun(r); err != nil {
			return err
		}
		return tx.PutEffect(&approvals.EffectRecord{
			Workspace: "T1", Run: "run_1", ID: "eff_1", Authority: approvals.Authority{Request: "req_1"}, Tool: "pay",
			Agent: "ops", Attempt: 1, Intent: settled, Done: became, Output: &agent.ToolOutput{Text: "secret output"},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

func TestRunsListSays(t *testing.T) {
	t.Parallel()
	desk := newRuns(t)
	p, out, _ := capture()
	if err := (&runsListCommand{}).list(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "run_2") || !strings.HasPrefix(lines[2], "run_1") {
		t.Fatalf("listed:\n%s", out)
	}
	for _, part := range []string{"cancelled", "ops", "U1", "C1", "1 min", "3", "120"} {
		if !strings.Contains(lines[2], part) {
			t.Errorf("%q is not in %q", part, lines[2])
		}
	}
	p, out, _ = capture()
	c := runsListCommand{JSON: true, Limit: 1, query: control.RunQuery{Status: approvals.RunCancelled}}
	if err := c.list(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	var got runSummary
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.ID != "run_1" || got.Cancelled != "U2" ||
		got.RetriedAs != "run_2" || strings.Contains(out.String(), "pay") {
		t.Errorf("%v: %s", err, out)
	}
	for _, c := range []struct {
		command runsListCommand
		want    string
	}{
		{runsListCommand{Count: true}, "2\n"},
		{runsListCommand{Count: true, JSON: true}, `{"count":2}` + "\n"},
		{runsListCommand{query: control.RunQuery{Agent: "nobody"}}, "No run matches.\n"},
	} {
		p, out, _ := capture()
		if err := c.command.list(t.Context(), &p, desk); err != nil || out.String() != c.want {
			t.Errorf("%+v: %v, %q", c.command, err, out)
		}
	}
}

func TestRunsShowSays(t *testing.T) {
	t.Parallel()
	desk := newRuns(t)
	r, err := desk.Run(t.Context(), "run_1")
	if err != nil {
		t.Fatal(err)
	}
	p, out, _ := capture()
	if err := (&runsShowCommand{}).print(&p, r); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"\nstatus       cancelled by U2\n", "\nwhy          The run was cancelled. Carried out before that: pay.\n",
		"\nended        2026-11-02T15:01:30Z, after 1 min", "\nretried as   run_2\n",
		"\ncost         3 turns, 4 model calls, 120 tokens (100 in, 20 out)\n", "\ninput        pay\\u{1B}[31m 5\n",
		"\nrequest      req_1 approval of pay: approved, ran", "approve by U2 via button", "fine\\u{202E}",
		"\ncall         pay by ops: ran after 1 min", "as req_1 allowed",
		"\nguardrail    ceiling of the tool pay (tool_input): ask_again: a large one\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	p, all, _ := capture()
	if err := (&runsShowCommand{JSON: true}).print(&p, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID, Status string
		Effects    []struct{ Outcome string }
		Requests   []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(all.String()), &got); err != nil || got.ID != "run_1" ||
		got.Status != "cancelled" ||
		len(got.Effects) != 1 || got.Effects[0].Outcome != "ran" || len(got.Requests) != 1 {
		t.Errorf("%v: %s", err, all)
	}
	for _, text := range []string{out.String(), all.String()} {
		if strings.Contains(text, "secret output") || strings.Contains(text, "\x1b") ||
			strings.Contains(text, "amount") {
			t.Errorf("too much is said:\n%s", text)
		}
	}
}

// TestEffectLines says what allowed each call.
func TestEffectLines(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]approvals.RunEffect{
		"for review: nobody was asked":            {Review: true},
		"under grant_1":                           {Authority: approvals.Authority{Grant: "grant_1", Request: "req_1"}},
		"by the emergency decision dec_1":         {Authority: approvals.Authority{BreakGlass: "dec_1"}},
		"ungated":                                 {},
		"attempt 2":                               {Attempt: 2},
		"x by -: not known, begun 0001-01-01T00:": {Tool: "x"},
		"after 1.5 s, returned 12 bytes, begun":   {Done: time.Unix(9, 0), Milliseconds: 1500, OutputBytes: 12},
		"after 3 min":                             {Done: time.Unix(9, 0), Milliseconds: 200_000},
	} {
		if got := effectLine(&e); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// TestRetryWords says what became of the input, and counts what waits before it as people do.
func TestRetryWords(t *testing.T) {
	t.Parallel()
	queued := approvals.Receipt{Run: "run_2", Outcome: approvals.SubmitQueued}
	const waits = "run_2 is under way in its thread. The input of run_1 waits for the end of that"
	for ahead, want := range map[int]string{
		0: waits + ".", 1: waits + ", behind 1 other message.", 2: waits + ", behind 2 other messages.",
	} {
		queued.Ahead = ahead
		if got := retryWords("run_1", queued); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := retrySummary("run_1", queued); got.Run != "" || got.Behind != "run_2" {
		t.Errorf("a program reads %+v, and would take a run that is somebody else's for the new one", got)
	}
	started := approvals.Receipt{Run: "run_2", Outcome: approvals.SubmitStarted}
	if got := retryWords("run_1", started); got != "run_1 is started again as run_2." {
		t.Errorf("%q", got)
	}
}
