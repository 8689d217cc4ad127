package approvals_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/toolstatus"
	"countersign/approvals"
)

// toldOfRetry returns what the model was told in the run number n of the tries before it: the last such note, as the
// memory of the place has those of earlier runs.
func toldOfRetry(t *testing.T, m *retryModel, n int) string {
	t.Helper()
	for _, it := range slices.Backward(m.first(n)) {
		if strings.Contains(it.Text, "was asked before") {
			return it.Text
		}
	}
	t.Fatalf("run %d was told of no earlier one: %+v", n, m.first(n))
	return ""
}

// cancelWaiting cancels the run when it waits for people.
func (b *bench) cancelWaiting(id approvals.RunID) {
	b.Helper()
	b.question(id)
	v := approvals.Cancellation{Workspace: ws, Run: id, By: bob, Via: "cli"}
	if _, err := b.service.Cancel(b.Context(), v); err != nil {
		b.Fatal(err)
	}
}

// TestRetryOfARetryIsToldOfAll: what the first try carried out is told to the third, though the second did nothing.
func TestRetryOfARetryIsToldOfAll(t *testing.T) {
	t.Parallel()
	b, m, old := retriedBench(t)
	second, err := b.retry(old, bob)
	if err != nil {
		t.Fatal(err)
	}
	b.cancelWaiting(second.Run)
	third, err := b.retry(second.Run, bob)
	if err != nil {
		t.Fatal(err)
	}
	b.question(third.Run)
	told := toldOfRetry(t, m, 2)
	if !strings.Contains(told, "note (ran)") || !strings.Contains(told, "asked before, 2 times") {
		t.Errorf("the third was told %q", told)
	}
	if told := toldOfRetry(t, m, 1); !strings.Contains(told, "asked before, once") {
		t.Errorf("control: the second was told %q", told)
	}
}

// payingOnce is a model that calls pay, and then does what then says. In a run that was started again it does nothing
// but note what it is told of the one before.
func payingOnce(told *string, then func() ([]agent.Item, error)) model {
	return func(req *agent.ModelRequest) ([]agent.Item, error) {
		for _, it := range req.Items {
			if strings.Contains(it.Text, "was asked before") {
				*told = it.Text
				return []agent.Item{agent.AssistantMessage("I see")}, nil
			}
		}
		if len(outputs(req)) > 0 {
			return then()
		}
		return []agent.Item{call("c1", "pay", `{}`)}, nil
	}
}

// TestRetryIsToldWhatAFailedCallLeavesOpen: of a call that failed with an answer that leaves open what was done, the
// model is told so when the run is started again, and of one that was refused no more than that it failed.
func TestRetryIsToldWhatAFailedCallLeavesOpen(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		502: "pay (failed: HTTP 502, it may have acted all the same)", 422: "pay (failed)",
	} {
		b := newBench(t)
		var told string
		tools := b.tools()
		tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: "no", Failed: true, Status: toolstatus.Status{HTTP: status}}, nil
		}
		b.agent(payingOnce(&told, func() ([]agent.Item, error) {
			return []agent.Item{call("c2", "look", `{}`)}, nil
		}), tools...)
		b.start()
		id := b.submit()
		b.must(b.question(id), bob, approvals.Approve, "")
		b.until("the next question", func() bool { return len(b.requests(id)) == 2 })
		b.cancelWaiting(id)
		receipt, err := b.retry(id, ann)
		if err != nil {
			t.Fatal(err)
		}
		b.reaches(receipt.Run, approvals.RunDone)
		if !strings.Contains(told, want) {
			t.Errorf("%d: the model was told %q, want %q", status, told, want)
		}
	}
}

// TestRetryIsToldOfCallsElsewhere: calls that people or systems outside carry out are among those that the model is
// told of, as far as anything is known of them.
func TestRetryIsToldOfCallsElsewhere(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[approvals.Verdict]string{
		approvals.ProvideResult: "deploy (ran)", approvals.Reject: "None of its calls", "": "deploy (unknown)",
	} {
		b := newBench(t)
		var told []string
		b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			for _, it := range req.Items {
				if strings.Contains(it.Text, "was asked before") {
					told = append(told, it.Text)
					return []agent.Item{agent.AssistantMessage("I see")}, nil
				}
			}
			if len(outputs(req)) > 0 {
				return []agent.Item{call("c2", "pay", `{}`)}, nil
			}
			return []agent.Item{call("c1", "deploy", `{"ref":"v2"}`)}, nil
		}), append(b.tools(), external())...)
		b.start()
		id := b.submit()
		first := b.question(id)
		if verdict != "" {
			b.must(first, bob, verdict, "so it is")
			b.until("the next question", func() bool { return len(b.requests(id)) == 2 })
		}
		if _, err := b.service.CancelRun(context.WithoutCancel(t.Context()), ws, id, ann, ""); err != nil {
			t.Fatal(err)
		}
		receipt, err := b.retry(id, ann)
		if err != nil {
			t.Fatal(err)
		}
		b.reaches(receipt.Run, approvals.RunDone)
		if len(told) != 1 || !strings.Contains(told[0], want) {
			t.Errorf("%q: the model was told %q, want %q", verdict, told, want)
		}
	}
}

// TestRetryWithoutItsRequests: the requests of the old run are not kept for as long as the run. What they said of calls
// that are carried out elsewhere nobody knows any more, and that is what the model is told.
func TestRetryWithoutItsRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rules := approvals.Retention{Requests: old}
	b.worker.Retention = func() approvals.Retention { return approvals.Retention{Requests: rules.Requests} }
	var told []string
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		for _, it := range req.Items {
			if strings.Contains(it.Text, "was asked before") {
				told = append(told, it.Text)
				return []agent.Item{agent.AssistantMessage("I see")}, nil
			}
		}
		return []agent.Item{call("c1", "deploy", `{"ref":"v2"}`)}, nil
	}), external())
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	b.sweep(rules)
	if n := len(b.requests(id)); n != 0 {
		t.Fatalf("%d requests are left", n)
	}
	receipt, err := b.retry(id, ann)
	if err != nil {
		t.Fatal(err)
	}
	if err := step(runJob(receipt.Run)); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0], "before, once: ") ||
		!strings.Contains(told[0], "What its calls did is not kept any more") {
		t.Errorf("the model was told %q", told)
	}
}

// TestRetryOfADeletedRun: while its input waited the old run was deleted, and nothing is made up of what it did.
func TestRetryOfADeletedRun(t *testing.T) {
	t.Parallel()
	b, m, old := retriedBench(t)
	active := b.submit()
	question := b.question(active)
	if receipt, err := b.retry(old, bob); err != nil || receipt.Outcome != approvals.SubmitQueued {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.DeleteRun(ws, old) }); err != nil {
		t.Fatal(err)
	}
	b.must(question, cara, approvals.Approve, "")
	b.reaches(active, approvals.RunDone)
	b.until("the model to be asked", func() bool { return len(m.first(2)) > 0 })
	told := toldOfRetry(t, m, 2)
	if strings.Contains(told, "None of its calls") || !strings.Contains(told, "not kept any more") {
		t.Errorf("the model was told %q", told)
	}
}
