package approvals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// retryModel notes, then pays; told that it was asked before, it only pays. It keeps what it was told first in each
// run.
type retryModel struct {
	mu    sync.Mutex
	begun [][]agent.Item
}

func (m *retryModel) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(outputs(req)) > 0 {
		return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("paid")}}, nil
	}
	m.begun = append(m.begun, slices.Clone(req.Items))
	calls := []agent.Item{call("c2", "pay", `{"amount":5}`)}
	if len(m.begun) == 1 {
		calls = append(calls, call("c1", "note", `{"amount":1}`))
	}
	return &agent.ModelResponse{Items: calls}, nil
}

func (m *retryModel) first(run int) []agent.Item {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run >= len(m.begun) {
		return nil
	}
	return m.begun[run]
}

// retriedBench has a run of ann that has noted something and was cancelled while it waited for an approval.
func retriedBench(t *testing.T) (b *bench, m *retryModel, old approvals.RunID) {
	b, m = newBench(t), &retryModel{}
	b.model(m)
	b.start()
	old = b.submit()
	b.question(old)
	v := approvals.Cancellation{Workspace: ws, Run: old, By: bob, Reason: "wrong month", Via: "cli"}
	if _, err := b.service.Cancel(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return b, m, old
}

func (b *bench) retry(run approvals.RunID, by approvals.UserID) (approvals.Receipt, error) {
	return b.service.RetryRun(b.Context(), approvals.RunRetry{Workspace: ws, Run: run, By: by, Via: "cli"})
}

// TestRetryRun starts a cancelled run again: a new run with the same words, which is told what was carried out, and
// asks people again.
func TestRetryRun(t *testing.T) {
	t.Parallel()
	b, m, old := retriedBench(t)
	receipt, err := b.retry(old, bob)
	if err != nil || receipt.Outcome != approvals.SubmitStarted || receipt.Run == old {
		t.Fatalf("%+v, %v", receipt, err)
	}
	question := b.question(receipt.Run)
	next, before := b.run(receipt.Run), b.run(old)
	if next.Requester != bob || next.Input != "please" || next.RetryOf != old || before.RetriedAs != next.ID ||
		before.Status != approvals.RunCancelled {
		t.Errorf("the new run %+v\nof %+v", next, before)
	}
	told := m.first(1)
	if n := len(told); n < 2 || told[n-1].Text != "please" || told[n-2].Role != agent.RoleDeveloper ||
		!strings.Contains(told[n-2].Text, "note (ran)") || strings.Contains(told[n-2].Text, "pay") {
		t.Errorf("the model was told %+v", told)
	}
	b.until("the notice", func() bool {
		return slices.ContainsFunc(b.surface.texts(approvals.NotifyNotice), func(s string) bool {
			return strings.Contains(s, "started the run again that was cancelled ("+string(old)+")")
		})
	})
	if _, err := b.retry(old, ann); !errors.Is(err, approvals.ErrRetried) ||
		!strings.Contains(err.Error(), string(next.ID)) {
		t.Errorf("started again a second time: %v", err)
	}
	if _, err := b.retry(next.ID, ann); !errors.Is(err, approvals.ErrInvalid) ||
		!strings.Contains(err.Error(), "cancel it first") {
		t.Errorf("a run that waits: %v", err)
	}
	b.must(question, cara, approvals.Approve, "")
	b.reaches(next.ID, approvals.RunDone)
	if _, err := b.retry(next.ID, ann); !errors.Is(err, approvals.ErrInvalid) ||
		!strings.Contains(err.Error(), "has its answer") {
		t.Errorf("a run that is done: %v", err)
	}
	if all := b.effects.all(); len(all) != 2 {
		t.Errorf("ran %+v", all)
	}
	if n := b.count(approvals.AuditRunRetried); n != 1 {
		t.Errorf("%d entries about it", n)
	}
}

// TestRetryIsInTheTrail names who, how, and which run.
func TestRetryIsInTheTrail(t *testing.T) {
	t.Parallel()
	b, _, old := retriedBench(t)
	receipt, err := b.retry(old, bob)
	if err != nil {
		t.Fatal(err)
	}
	said := map[approvals.AuditAction]string{}
	err = approvals.ExportAudit(t.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		said[e.Action] = e.Actor + " " + string(e.Run) + " " + fact(e, "retry_of") + " " + fact(e, "via")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[approvals.AuditAction]string{
		approvals.AuditRunCancelled: string(bob) + " " + string(old) + " <nil> cli",
		approvals.AuditRunRetried:   string(bob) + " " + string(old) + " <nil> cli",
		approvals.AuditRunSubmitted: string(bob) + " " + string(receipt.Run) + " " + string(old) + " cli",
	} {
		if said[action] != want {
			t.Errorf("%s: %q, want %q", action, said[action], want)
		}
	}
}

// TestRetryWaitsItsTurn queues the input behind the run that is under way, apart from what people write.
func TestRetryWaitsItsTurn(t *testing.T) {
	t.Parallel()
	b, m, old := retriedBench(t)
	active := b.submit()
	question := b.question(active)
	if _, err := b.service.Submit(t.Context(), b.submission(bob, place, "and this")); err != nil {
		t.Fatal(err)
	}
	receipt, err := b.retry(old, bob)
	if err != nil || receipt.Outcome != approvals.SubmitQueued || receipt.Run != active || receipt.Ahead != 1 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if _, err := b.retry(old, bob); !errors.Is(err, approvals.ErrRetried) {
		t.Errorf("while it waits: %v", err)
	}
	b.must(question, cara, approvals.Approve, "")
	b.reaches(active, approvals.RunDone)
	b.until("the message before it", func() bool { return len(m.first(2)) > 0 })
	if last := m.first(2); last[len(last)-1].Text != "and this" {
		t.Errorf("the message was told as %q", last[len(last)-1].Text)
	}
	second, err := b.active()
	if err != nil || second.RetryOf != "" {
		t.Fatalf("%+v, %v", second, err)
	}
	b.must(b.question(second.ID), cara, approvals.Approve, "")
	b.reaches(second.ID, approvals.RunDone)
	b.until("its run", func() bool { return b.run(old).RetriedAs != "" })
	third := b.run(b.run(old).RetriedAs)
	if third.RetryOf != old || third.Input != "please" || third.Requester != bob {
		t.Errorf("the run that it became: %+v", third)
	}
}

// active returns the run of the place that has not ended.
func (b *bench) active() (r *approvals.Run, err error) {
	err = b.store.View(b.Context(), func(tx approvals.Tx) error {
		r, err = tx.ActiveRun(ws, place)
		return err
	})
	return r, err
}

// TestWhoMayRetry applies the rules for those who start runs.
func TestWhoMayRetry(t *testing.T) {
	t.Parallel()
	b, _, old := retriedBench(t)
	for _, by := range []approvals.UserID{guest, out} {
		if _, err := b.retry(old, by); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("%s: %v", by, err)
		}
	}
	if n := b.count(approvals.AuditRunRefused); n != 2 {
		t.Errorf("%d refusals in the trail", n)
	}
	if _, err := b.retry("run_absent", ann); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	if _, err := b.retry(old, approvals.NewUserID("T2", "ann")); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("somebody of another workspace: %v", err)
	}
	if b.run(old).RetriedAs != "" {
		t.Error("a refused retry counts as one")
	}
	if _, err := b.retry(old, ann); err != nil { // the control
		t.Error(err)
	}

	direct := approvals.Place{Surface: "slack", Channel: "D1", Thread: "1", Direct: true}
	private := b.submitAt(direct)
	b.question(private)
	if _, err := b.service.CancelRun(t.Context(), ws, private, ann, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.retry(private, bob); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("somebody else's direct conversation: %v", err)
	}
	if _, err := b.retry(private, ann); err != nil {
		t.Errorf("their own direct conversation: %v", err)
	}
}

// TestRetryKeepsLimits counts the new run as any other.
func TestRetryKeepsLimits(t *testing.T) {
	t.Parallel()
	b, _, old := retriedBench(t)
	b.stop()
	b.limits = approvals.Limits{RunsPerPerson: 1}
	b.serve(b.mortal)
	another := place
	another.Thread = "9.9"
	b.submitAt(another)
	if _, err := b.retry(old, ann); !errors.Is(err, approvals.ErrLimit) {
		t.Errorf("past the limit: %v", err)
	}
	if _, err := b.retry(old, bob); err != nil { // a refusal is no retry
		t.Error(err)
	}
}
