package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestTrailSaysWhenNobodyKnows kills the process in the middle of a call, and again when it is tried again. Each time
// the trail says of that attempt that nobody knows what came of it, once: operators are alerted on that. What people
// answer, and the end of the run, say it no second time.
func TestTrailSaysWhenNobodyKnows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 2)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "")
	for _, want := range [][]string{{"1"}, {"1", "2"}} {
		b.crashed()
		r = b.question(r.Run)
		b.reaches(r.Run, approvals.RunWaiting)
		if r.Kind != agent.OutcomeUnknown {
			t.Fatalf("a question of kind %s", r.Kind)
		}
		if got := b.doubted(); !slices.Equal(got, want) {
			t.Errorf("the trail doubts the attempts %v, want %v", got, want)
		}
		if len(want) == 1 {
			b.must(r, bob, approvals.Retry, "")
		}
	}
	b.must(r, bob, approvals.GiveUp, "no trace of it")
	b.reaches(r.Run, approvals.RunDone)
	if got := b.doubted(); len(got) != 2 {
		t.Errorf("in the end the trail doubts the attempts %v", got)
	}
	b.stop()
}

// TestNobodyToAskWhatBecameOfACall loses a worker in the middle of a call of which nobody can be asked what became of
// it, as its policy fails. The trail says that nobody knows, once, and so does the record of the run, which does not
// call it running for ever. What the call comes to after all is told, while the run goes on.
func TestNobodyToAskWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
			if r.Tool.Name == "note" {
				return approvals.Requirement{}, errors.New("division by zero")
			}
			return lenient(), nil
		})
		tools := b.tools()
		work := tools[1].Invoke
		tools[1].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			time.Sleep(time.Minute) // heeds no context
			return work(ctx, c)
		}
		b.agent(asks(call("c1", "note", `{}`), call("c2", "pay", `{"amount":5}`)), tools...)
		id := b.submit()
		a := &replica{Store: b.store}
		late := make(chan error, 1)
		go func() { late <- b.handler(t.Context(), a)(runJob(id)) }()
		synctest.Wait()
		a.fail(errors.New("no route to host"))
		time.Sleep(30 * time.Second)
		other := b.handler(t.Context(), &replica{Store: b.store})
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		pay := b.question(id)
		b.knows(id, approvals.OutcomeUnknown)
		if got := b.doubted(); !slices.Equal(got, []string{"1"}) {
			t.Errorf("the trail doubts the attempts %v", got)
		}
		a.fail(nil)
		if err := <-late; err == nil {
			t.Error("the given-up worker thinks it has ended the run")
		}
		b.knows(id, approvals.OutcomeRan)
		b.must(pay, bob, approvals.Reject, "")
		if err := other(runJob(id)); err != nil {
			t.Fatal(err)
		}
		said := b.queued()
		for _, want := range []string{
			"It is not known whether note was carried out, and nobody can be asked: its policy failed",
			"note, of which nothing was known, has finished after all: it ran.",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("people are not told %q, but %q", want, said)
			}
		}
		if got := b.doubted(); b.run(id).Status != approvals.RunDone || len(got) != 1 {
			t.Errorf("in the end the run is %s, and the trail doubts the attempts %v", b.run(id).Status, got)
		}
		b.store.Close()
	})
}

// TestBrokenOffAndNotTakenAnyMore kills the process in the middle of a call, or when its output is recorded and its run
// does not know, and changes the tool so that it does not take the call any more. The model reads the output, or that
// nobody knows, and never that the call was not carried out: it may make it again. Nothing is said to be running for
// ever, and people are told.
func TestBrokenOffAndNotTakenAnyMore(t *testing.T) {
	t.Parallel()
	const doubt = "c1: It is not known whether this call was carried out, and it will not be tried again."
	const lost = "Unknown whether it was carried out: pay. " +
		"It was cut off, and its tool does not take it any more: nobody is asked."
	for name, tt := range map[string]struct {
		recorded, waits bool
		outcome         approvals.Outcome
		told            string
		said            []string
	}{
		"in the middle": {
			outcome: approvals.OutcomeUnknown, told: doubt, said: []string{lost},
		},
		"in the middle, beside another": {
			outcome: approvals.OutcomeUnknown, told: doubt, said: []string{lost}, waits: true,
		},
		"with its output": {
			outcome: approvals.OutcomeRan, told: "c1: pay done", recorded: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			calls := []agent.Item{call("c1", "pay", `{"amount":5}`)}
			if tt.waits {
				calls = append(calls, call("c2", "look", `{}`))
			}
			b.dying(asks(calls...), "pay", 1)
			if tt.recorded {
				b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
					if len(outputs(req)) > 0 {
						b.mortal.kill()
					}
					return asks(calls...)(req)
				}))
			}
			b.start()
			id := b.submit()
			b.until("the questions", func() bool { return len(b.pending(id)) == len(calls) })
			b.reaches(id, approvals.RunWaiting)
			first := b.pending(id)[0]
			b.must(first, bob, approvals.Approve, "")
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.reopen()
			tools := b.tools()
			tools[0].Version = "2"
			tools[0].Validate = func(json.RawMessage) error { return errors.New("amount must be text") }
			b.agent(asks(calls...), tools...)
			b.start()
			if tt.waits {
				b.until("the first call to be given up", func() bool { return len(b.doubted()) == 1 })
				b.knows(id, tt.outcome)
				b.must(b.question(id), bob, approvals.Approve, "")
			}
			if got := b.reaches(id, approvals.RunDone).Output; !strings.HasPrefix(got, tt.told) {
				t.Errorf("the model was told %q, want %q", got, tt.told)
			}
			b.knows(id, tt.outcome)
			if got := b.request(first.ID).Outcome; got != tt.outcome {
				t.Errorf("the request says %q", got)
			}
			b.until("what is to be told", b.delivered)
			if said := b.surface.texts(approvals.NotifyNotice); !slices.Equal(said, tt.said) {
				t.Errorf("people are told %q, want %q", said, tt.said)
			}
			if got, paid := b.doubted(), b.effects.all(); len(got) != len(tt.said) || paid[0].tool != "pay" {
				t.Errorf("the trail doubts the attempts %v, carried out %v", got, paid)
			}
			b.stop()
		})
	}
}

// knows checks what the record of a run says of its first call.
func (b *bench) knows(id approvals.RunID, want approvals.Outcome) {
	b.Helper()
	rec, err := approvals.ReadRun(b.Context(), b.store, ws, id)
	if err != nil {
		b.Fatal(err)
	}
	if got := rec.Effects[0].Outcome; got != want {
		b.Errorf("what became of the call is %q, want %q", got, want)
	}
}

// queued are the texts that wait to be told in the place.
func (b *bench) queued() string {
	b.Helper()
	var all []string
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		list, err := tx.Notifications(ws, place, "", 100)
		for _, n := range list {
			all = append(all, n.Text)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(all, "|")
}

// doubted are the attempts of which the trail says that nobody knows what came of them.
func (b *bench) doubted() (attempts []string) {
	b.Helper()
	b.trail() // which checks it
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if e.Action == approvals.AuditEffectUnknown {
			attempts = append(attempts, fact(e, "attempt"))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return attempts
}
