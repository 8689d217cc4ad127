package approvals_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// oneAfterAnother is a model that makes the calls in turns of their own.
func oneAfterAnother(calls ...agent.Item) model {
	return func(req *agent.ModelRequest) ([]agent.Item, error) {
		if n := len(outputs(req)); n < len(calls) {
			return calls[n : n+1], nil
		}
		return []agent.Item{agent.AssistantMessage("done")}, nil
	}
}

// next waits until the run asks its n-th question, and for nothing else.
func (b *bench) next(id approvals.RunID, n int) *approvals.Request {
	b.Helper()
	b.until("another question", func() bool { return len(b.requests(id)) == n && len(b.pending(id)) == 1 })
	b.reaches(id, approvals.RunWaiting)
	return b.pending(id)[0]
}

// permits returns the requests that effects began with, in order.
func (b *bench) permits() (all []approvals.RequestID) {
	b.Helper()
	for _, e := range b.entries() {
		if e.Action == approvals.AuditEffectIntent {
			all = append(all, e.Request)
		}
	}
	return all
}

// TestApprovalIsForOneCall has a second call that asks follow one that was approved, in the same run: it is asked
// about, also when it is the very same call. The trail says of each effect which request permitted it.
func TestApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]agent.Item{
		"another tool":    call("c2", "look", `{"amount":1}`),
		"other arguments": call("c2", "pay", `{"amount":2}`),
		"the same again":  call("c2", "pay", `{"amount":1}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.model(oneAfterAnother(call("c1", "pay", `{"amount":1}`), second))
			b.start()
			id := b.submit()
			first := b.next(id, 1)
			b.must(first, bob, approvals.Approve, "")
			r := b.next(id, 2)
			if n := len(b.effects.all()); n != 1 {
				t.Fatalf("%d effects with one approval", n)
			}
			b.must(r, cara, approvals.Approve, "")
			b.reaches(id, approvals.RunDone)
			if n := len(b.effects.all()); n != 2 {
				t.Errorf("%d effects", n)
			}
			if got := b.permits(); !slices.Equal(got, []approvals.RequestID{first.ID, r.ID}) {
				t.Errorf("the effects were permitted by %v, want %s and %s", got, first.ID, r.ID)
			}
		})
	}
}

// TestRecordedBesideAsked has two calls in one turn, one of which is only recorded. Whichever comes first, the other
// one waits, can be answered, and runs; the trail names who approved, and marks what nobody was asked about.
func TestRecordedBesideAsked(t *testing.T) {
	t.Parallel()
	recorded, gated := call("c1", "note", `{}`), call("c2", "pay", `{"amount":5}`)
	for _, order := range [][]agent.Item{{recorded, gated}, {gated, recorded}} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tools := b.tools()
			tools[1].NeedsApproval, tools[1].Audit = agent.AlwaysAsk, true
			b.agent(asks(order...), tools...)
			b.start()
			id := b.submit()
			r := b.next(id, 1)
			if got := b.effects.all(); r.Tool.Name != "pay" || len(got) != 1 || got[0].tool != "note" {
				t.Fatalf("asked about %s, ran %v", r.Tool.Name, got)
			}
			b.must(r, bob, approvals.Approve, "")
			b.reaches(id, approvals.RunDone)
			if n := len(b.effects.all()); n != 2 {
				t.Errorf("%d effects", n)
			}
			if got := b.permits(); !slices.Equal(got, []approvals.RequestID{"", r.ID}) {
				t.Errorf("the effects were permitted by %q", got)
			}
			reviewed, approvers := 0, []string{}
			for _, e := range b.entries() {
				if e.Action == approvals.AuditEffectIntent && fact(e, "review") == "true" {
					reviewed++
				}
				if e.Action == approvals.AuditDecision && e.Request == r.ID {
					approvers = append(approvers, e.Actor)
				}
			}
			if reviewed != 1 || !slices.Equal(approvers, []string{string(bob)}) {
				t.Errorf("%d calls are marked, the other was approved by %q", reviewed, approvers)
			}
		})
	}
}

// TestRunGoesOnForItsRequester: whoever decides, and whatever was restarted in between, gates and tools read the person
// who asked for the run.
func TestRunGoesOnForItsRequester(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	var seen []approvals.UserID
	see := func(c *agent.ToolCall) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.Run.Value.(*approvals.Run).Requester)
	}
	tools := b.tools()
	pay := tools[0].Invoke
	tools[0].NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) { see(c); return true, nil }
	tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		see(c)
		return pay(ctx, c)
	}
	b.agent(model(twice), tools...)
	b.start()
	id := b.submit()
	for n, by := range []approvals.UserID{bob, cara} {
		r := b.next(id, n+1)
		if r.Requester != ann {
			t.Errorf("question %d is asked for %s", n+1, r.Requester)
		}
		b.reopen()
		b.must(r, by, approvals.Approve, "")
		b.start()
	}
	b.reaches(id, approvals.RunDone)
	if want := slices.Repeat([]approvals.UserID{ann}, 4); !slices.Equal(seen, want) {
		t.Errorf("gates and tools read %v, want %v", seen, want)
	}
}

// TestCancelWhileTheModelThinks cancels a run that goes on after an approval. What the model says afterwards, to a
// worker that does not know yet, runs nothing and is shown to nobody.
func TestCancelWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	thinking, goOn := make(chan struct{}), make(chan struct{})
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if len(outputs(req)) == 0 {
			return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
		}
		close(thinking)
		<-goOn // heeds no context
		return []agent.Item{call("c2", "note", `{}`)}, nil
	}))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.must(b.question(id), bob, approvals.Approve, "")
	handled := make(chan error, 1)
	go func() { handled <- step(runJob(id)) }()
	<-thinking
	if _, err := b.service.CancelRun(t.Context(), ws, id, ann, "enough"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-handled; !errors.Is(err, approvals.ErrFenced) {
		t.Errorf("the worker goes on: %v", err)
	}
	if err := step(deliverJob(place)); err != nil {
		t.Fatal(err)
	}
	if got := b.run(id); got.Status != approvals.RunCancelled || len(b.effects.all()) != 1 {
		t.Errorf("the run is %s; ran %v", got.Status, b.effects.all())
	}
	if got := b.surface.texts(approvals.NotifyAnswer); len(got) != 0 {
		t.Errorf("people read the answers %q", got)
	}
	b.invariants("after the cancellation")
}
