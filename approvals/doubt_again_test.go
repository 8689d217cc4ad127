package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/toolstatus"
	"countersign/approvals"
)

// TestBegunAgainAfterACrash kills the process in the middle of an approved call that may be begun again, and has the
// second one fail: the server may be at work on the first. Nobody reads that the call has failed and nothing was done.
func TestBegunAgainAfterACrash(t *testing.T) {
	t.Parallel()
	refused := agent.ToolOutput{Text: "busy", Failed: true, Status: toolstatus.Status{HTTP: 409}}
	broken := agent.ToolOutput{Text: "broken", Failed: true, Status: toolstatus.Status{HTTP: 502}}
	const before = "c1: This call was begun before, and nobody knows what came of that. " +
		"It was tried again, and failed:\n"
	for name, tt := range map[string]struct {
		second  agent.ToolOutput
		err     error
		answer  approvals.Verdict // to the question what became of it; empty: nobody is asked
		reads   string
		outcome approvals.Outcome
	}{
		"carried out": {
			second: agent.ToolOutput{Text: "looked"}, reads: "c1: looked", outcome: approvals.OutcomeRan,
		},
		"refused, and found to have happened": {
			second: refused, answer: approvals.MarkDone, outcome: approvals.OutcomeRan,
			reads: "c1: The outcome of this call was unknown; a person has found out that it was carried out.",
		},
		"an error, and given up": {
			err: errors.New("no route to host"), answer: approvals.GiveUp, outcome: approvals.OutcomeUnknown,
			reads: "c1: It is not known whether this call was carried out, and a person has given it up.",
		},
		"refused, and tried again": {
			second: refused, answer: approvals.Retry, outcome: approvals.OutcomeFailed, reads: before + "busy",
		},
		"may have acted": {second: broken, reads: before + "broken", outcome: approvals.OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			asked := asks(call("c1", "look", `{}`))
			b.changing(asked, "look", nil, true)
			b.start()
			r := b.question(b.submit())
			b.must(r, bob, approvals.Approve, "")
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			b.changing(asked, "look", func(tool *agent.Tool, _ *bench) {
				tool.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
					return tt.second, tt.err
				}
			}, false)
			b.start()
			if tt.answer != "" {
				q := b.question(r.Run)
				if q.Kind != agent.OutcomeUnknown {
					t.Fatalf("asked: %s", q.Kind)
				}
				b.must(q, bob, tt.answer, "looked it up")
			}
			if got := b.reaches(r.Run, approvals.RunDone).Output; !strings.HasPrefix(got, tt.reads) {
				t.Errorf("the model was told %q, want %q", got, tt.reads)
			}
			b.knows(r.Run, tt.outcome)
			known := b.request(r.ID)
			again := tt.answer == approvals.Retry
			if known.Outcome != tt.outcome || known.TriedAgain != again {
				t.Errorf("the request says %q, tried again: %t", known.Outcome, known.TriedAgain)
			}
			b.stop()
		})
	}
}

// TestTriedAgainInVainIsTold: people have a call tried again of which nobody knows whether it happened, the server
// refuses it, and then the run ends. They, and the model of the next run, read that nothing is known of the first time.
func TestTriedAgainInVainIsTold(t *testing.T) {
	t.Parallel()
	const want = "pay (HTTP 409; that was another try: it is unknown whether it ran before)"
	b := newBench(t)
	tools, tries, told := b.tools(), 0, ""
	tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		if tries++; tries == 1 {
			return agent.ToolOutput{}, agent.ErrOutcomeUnknown
		}
		return agent.ToolOutput{Text: "busy", Failed: true, Status: toolstatus.Status{HTTP: 409}}, nil
	}
	b.agent(payingOnce(&told, func() ([]agent.Item, error) {
		return nil, plain{errors.New("overloaded")}
	}), tools...)
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Approve, "")
	b.must(b.question(id), bob, approvals.Retry, "")
	if got := b.reaches(id, approvals.RunFailed).Failure; !strings.HasSuffix(got, "Failed before that: "+want+".") {
		t.Errorf("people were told %q", got)
	}
	receipt, err := b.retry(id, ann)
	if err != nil {
		t.Fatal(err)
	}
	b.reaches(receipt.Run, approvals.RunDone)
	if want := "pay (failed: " + strings.TrimPrefix(want, "pay ("); !strings.Contains(told, want) {
		t.Errorf("the model was told %q, want %q", told, want)
	}
}
