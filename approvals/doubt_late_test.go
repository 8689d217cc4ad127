package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// cutOff begins a payment with a worker that loses its store in the middle, and has another take up the run, which asks
// what became of the call. The payment ends, and fails if it is to, once late is called.
func (b *bench) cutOff(m agent.Model, fails bool) (question *approvals.Request, late func()) {
	b.Helper()
	tools := b.tools()
	work := tools[0].Invoke
	tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		out, err := work(ctx, c)
		time.Sleep(40 * time.Second) // heeds no context
		out.Failed = fails
		return out, err
	}
	b.agent(m, tools...)
	id := b.submit()
	lost := &replica{Store: b.store}
	one := b.handler(b.Context(), lost)
	if err := one(runJob(id)); err != nil {
		b.Fatal(err)
	}
	b.must(b.pending(id)[0], bob, approvals.Approve, "")
	go one(runJob(id))
	time.Sleep(time.Second)
	lost.fail(errLine)
	time.Sleep(20 * time.Second)
	if err := b.handler(b.Context(), &replica{Store: b.store})(runJob(id)); err != nil {
		b.Fatal(err)
	}
	return b.pending(id)[0], func() {
		lost.fail(nil)
		time.Sleep(time.Minute)
	}
}

// TestFoundOutInAChangedWorld has a payment finish after all while people are asked what became of it, or when somebody
// has just said so, and changes something before the run goes on. The model reads what the card says. Nobody is asked
// to carry it out once more.
func TestFoundOutInAChangedWorld(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(tool *agent.Tool, b *bench){
		"nothing":     nil,
		"its version": newVersion,
		"what it takes": func(tool *agent.Tool, b *bench) {
			newVersion(tool, b)
			tool.Validate = func(json.RawMessage) error { return errors.New("amount must be text") }
		},
		"a guardrail":         objecting,
		"carried out outside": func(tool *agent.Tool, _ *bench) { tool.External, tool.Invoke = true, nil },
	} {
		for _, answer := range []approvals.Verdict{"", approvals.MarkDone, approvals.GiveUp, approvals.Retry} {
			t.Run(name+", "+string(answer), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					asked := asks(call("c1", "pay", `{"amount":5}`))
					q, late := b.cutOff(asked, false)
					if answer != "" {
						b.must(q, cara, answer, "as the bank says")
					}
					late()
					if got := b.request(q.ID).Status; got == approvals.RequestPending {
						t.Fatalf("the question is %s", got)
					}
					b.changing(asked, "pay", change, false)
					if err := b.handler(t.Context(), &replica{Store: b.store})(runJob(q.Run)); err != nil {
						t.Fatal(err)
					}
					r := b.run(q.Run)
					if r.Status != approvals.RunDone || !strings.HasPrefix(r.Output, "c1: pay done") {
						t.Errorf("the run is %s, and the model was told %q", r.Status, r.Output)
					}
					if n := len(b.effects.all()); n != 1 {
						t.Errorf("%d effects", n)
					}
					b.store.Close()
				})
			})
		}
	}
}

// TestFailedAfterMarkedDone has somebody find out that a payment was made, which fails after all.
func TestFailedAfterMarkedDone(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			q, late := b.cutOff(asks(call("c1", "pay", `{"amount":5}`)), fails)
			b.must(q, cara, approvals.MarkDone, "receipt 7")
			late()
			const want = "pay, which somebody had marked as done, has finished after all: it failed."
			if said := b.queued(); strings.Contains(said, want) != fails {
				t.Errorf("the payment fails: %t, and people are told %q", fails, said)
			}
			b.store.Close()
		})
	}
}
