package approvals_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// dying makes the named tool have its effect and then take the process with it, the given number of times.
func (b *bench) dying(m agent.Model, name string, times int) {
	tools := b.tools()
	for i := range tools {
		if tools[i].Name != name {
			continue
		}
		work := tools[i].Invoke
		tools[i].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			if times > 0 {
				times--
				b.mortal.kill()
			}
			return out, err
		}
	}
	b.agent(m, tools...)
}

// crashed waits for the process to die and starts another.
func (b *bench) crashed() {
	b.Helper()
	b.until("the crash", func() bool { return b.mortal.dead.Load() })
	b.reopen()
	b.start()
}

// unknown runs a bench up to the question whether its payment happened.
func unknown(t *testing.T, q approvals.Requirement, by ...approvals.UserID) (*bench, *approvals.Request) {
	t.Helper()
	b := newBench(t)
	b.policy.always(q)
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 1)
	b.start()
	r := b.question(b.submit())
	for _, u := range by {
		b.must(r, u, approvals.Approve, "")
	}
	b.crashed()
	r = b.question(r.Run)
	if r.Kind != agent.OutcomeUnknown || len(b.effects.all()) != 1 {
		t.Fatalf("question of kind %s, effects %v", r.Kind, b.effects.all())
	}
	b.reaches(r.Run, approvals.RunWaiting)
	return b, r
}

func TestUnknownOutcomeAsksAPerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verdict approvals.Verdict
		output  string
		effects int
	}{
		{approvals.Retry, "c1: pay done", 2},
		{approvals.MarkDone, "c1: The outcome of this call was unknown; " +
			`a person has found out that it was carried out. Their words, as data: "receipt 7"`, 1},
		{approvals.GiveUp, "c1: It is not known whether this call was carried out, " +
			`and a person has given it up. Their words, as data: "receipt 7"`, 1},
	} {
		t.Run(string(tt.verdict), func(t *testing.T) {
			t.Parallel()
			b, r := unknown(t, lenient(), bob)
			b.refused(r, cara, approvals.Approve, approvals.ErrInvalid) // does not answer this question
			b.must(r, cara, tt.verdict, "receipt 7")
			if got := b.reaches(r.Run, approvals.RunDone).Output; got != tt.output {
				t.Errorf("the model was told %q", got)
			}
			got := b.effects.all()
			if len(got) != tt.effects || got[0].id != got[len(got)-1].id {
				t.Errorf("effects %v", got)
			}
		})
	}
}

func TestRetryTakesWhatTheCallTook(t *testing.T) {
	t.Parallel()
	two := with(func(q *approvals.Requirement) { quorum(q, 2); q.SelfApproval = false })
	t.Run("retry needs the quorum", func(t *testing.T) {
		t.Parallel()
		b, r := unknown(t, two, bob, cara)
		b.refused(r, ann, approvals.Retry, approvals.ErrUnauthorized)
		if got := b.must(r, bob, approvals.Retry, ""); got.Status != approvals.RequestPending {
			t.Fatalf("one of two sufficed: %s", got.Status)
		}
		b.must(r, cara, approvals.Retry, "")
		b.reaches(r.Run, approvals.RunDone)
		if n := len(b.effects.all()); n != 2 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("giving up needs one", func(t *testing.T) {
		t.Parallel()
		b, r := unknown(t, two, bob, cara)
		b.must(r, bob, approvals.Retry, "")
		b.refused(r, ann, approvals.GiveUp, approvals.ErrUnauthorized)
		b.must(r, cara, approvals.GiveUp, "let it be")
		b.reaches(r.Run, approvals.RunDone)
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("a policy that has become laxer does not help", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.policy.always(two)
		b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 1)
		b.start()
		r := b.question(b.submit())
		b.must(r, bob, approvals.Approve, "")
		b.must(r, cara, approvals.Approve, "")
		b.until("the crash", func() bool { return b.mortal.dead.Load() })
		b.policy.always(lenient())
		b.reopen()
		b.start()
		r = b.question(r.Run)
		if got := b.must(r, bob, approvals.Retry, ""); got.Status != approvals.RequestPending {
			t.Errorf("one of two sufficed: %s", got.Status)
		}
	})
	t.Run("words are needed", func(t *testing.T) {
		t.Parallel()
		b, r := unknown(t, lenient(), bob)
		if _, err := b.decide(r, bob, approvals.MarkDone, " "); err == nil {
			t.Error("marked done without a word")
		}
	})
}

// TestUnknownOutcomeIsAskedWithoutAQuorum has people leave between the approval and the crash: one is left, who cannot
// have the call repeated, but can say what happened.
func TestUnknownOutcomeIsAskedWithoutAQuorum(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", bob, cara)
	b.policy.always(with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S1"}})
	}))
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 1)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "")
	b.must(r, cara, approvals.Approve, "")
	b.until("the crash", func() bool { return b.mortal.dead.Load() })
	b.people.setGroup("S1", bob)
	b.reopen()
	b.start()
	r = b.question(r.Run)
	b.must(r, bob, approvals.MarkDone, "receipt 7")
	b.reaches(r.Run, approvals.RunDone)
}

// TestRetryIsGoodForOneAttempt crashes in the repeated attempt too.
func TestRetryIsGoodForOneAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 2)
	b.start()
	first := b.question(b.submit())
	b.must(first, bob, approvals.Approve, "")
	b.crashed()
	second := b.question(first.Run)
	b.must(second, bob, approvals.Retry, "")
	b.crashed()
	third := b.question(first.Run)
	if third.ID == second.ID || third.Kind != agent.OutcomeUnknown {
		t.Fatalf("question %+v", third)
	}
	if n := len(b.effects.all()); n != 2 {
		t.Fatalf("%d effects after two permissions", n)
	}
	b.must(third, bob, approvals.Retry, "")
	b.reaches(first.Run, approvals.RunDone)
	if n := len(b.effects.all()); n != 3 {
		t.Errorf("%d effects after three permissions", n)
	}
}

// TestRetryIsGoodForOneAttemptWhateverIsSaved crashes in the repeated attempt when the state with the permission has
// been saved meanwhile, because another call's output arrived.
func TestRetryIsGoodForOneAttemptWhateverIsSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		attempts := 0
		tools[0].Invoke = func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if string(c.Arguments) == `{"amount":2}` {
				time.Sleep(5 * time.Second) // long enough for its output to be saved at once
				return agent.ToolOutput{Text: "the other is done"}, nil
			}
			b.effects.add(c)
			if attempts++; attempts == 2 {
				b.until("the output of the other call", func() bool { return b.saved(c.Run.ID, "the other is done") })
			}
			b.mortal.kill()
			return agent.ToolOutput{}, nil
		}
		b.agent(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)), tools...)
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		b.crashed()
		b.until("the question what became of it", func() bool {
			return len(b.pending(id)) == 2 && b.run(id).Status == approvals.RunWaiting
		})
		b.stop()
		yes := map[agent.InterruptionKind]approvals.Verdict{
			agent.Confirm: approvals.Approve, agent.OutcomeUnknown: approvals.Retry,
		}
		for _, r := range b.pending(id) {
			b.must(r, bob, yes[r.Kind], "")
		}
		b.start()
		b.crashed()
		if r := b.question(id); r.Kind != agent.OutcomeUnknown || len(b.effects.all()) != 2 {
			t.Errorf("question of kind %s, effects %v", r.Kind, b.effects.all())
		}
		b.stop()
		b.store.Close()
	})
}

// saved reports whether the saved state of the run holds the text.
func (b *bench) saved(id string, text string) (found bool) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		head, chunks, err := tx.State(ws, approvals.RunID(id))
		for _, part := range append(chunks, head) {
			found = found || strings.Contains(string(part), text)
		}
		return err
	})
	return err == nil && found
}

func TestIdempotentToolGoesAgainByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dying(asks(call("c1", "look", `{}`)), "look", 1)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "")
	b.crashed()
	b.reaches(r.Run, approvals.RunDone)
	got := b.effects.all()
	if len(got) != 2 || got[0].id != got[1].id || len(b.requests(r.Run)) != 1 {
		t.Errorf("effects %v, %d requests", got, len(b.requests(r.Run)))
	}
}

// TestUngatedToolIsJournalledToo crashes in a call that nobody had to approve.
func TestUngatedToolIsJournalledToo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dying(asks(call("c1", "note", `{}`)), "note", 1)
	b.start()
	id := b.submit()
	b.crashed()
	r := b.question(id)
	if r.Kind != agent.OutcomeUnknown || len(b.effects.all()) != 1 {
		t.Fatalf("question %s, effects %v", r.Kind, b.effects.all())
	}
	b.must(r, bob, approvals.Retry, "")
	b.reaches(id, approvals.RunDone)
}

// TestTurnOfAnEffectIsSaved crashes in the first call of a run: the turn that made the call is not asked for again, so
// that the model cannot make it once more under another id.
func TestTurnOfAnEffectIsSaved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	turns := 0
	b.dying(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if len(outputs(req)) > 0 {
			return []agent.Item{agent.AssistantMessage("done")}, nil
		}
		turns++
		return []agent.Item{call(fmt.Sprintf("c%d", turns), "note", `{}`)}, nil
	}), "note", 1)
	b.start()
	id := b.submit()
	b.crashed()
	b.must(b.question(id), bob, approvals.MarkDone, "it is there")
	b.reaches(id, approvals.RunDone)
	if turns != 1 || len(b.effects.all()) != 1 {
		t.Errorf("the first turn was asked for %d times, effects %v", turns, b.effects.all())
	}
}

// TestCrashEverywhere kills the process before and behind every single write of a run's life, one at a time, and has
// people answer whatever they are asked afterwards.
func TestCrashEverywhere(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(*bench) *int{"three calls": threeCalls, "calls inside": callsInside} {
		for _, behind := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, behind %v", name, behind), func(t *testing.T) {
				t.Parallel()
				const most = 1000 // writes: those that -run or -failfast leave out count as deaths
				died := true
				for n := 1; died && !t.Failed() && n < most; n++ {
					t.Run(fmt.Sprint("write ", n), func(t *testing.T) {
						if died = crashAt(t, story, n, behind); !died && n < 8 {
							t.Errorf("the story has only %d writes", n-1)
						}
					})
				}
			})
		}
	}
}

// threeCalls has the agent make three calls. It counts how often the model is asked for the first turn.
func threeCalls(b *bench) *int {
	turns := new(int)
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if len(outputs(req)) == 0 {
			*turns++
		}
		return asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`), call("c3", "look", `{}`))(req)
	}))
	return turns
}

// callsInside has an agent that is used as a tool make some of them.
func callsInside(b *bench) *int {
	turns := new(int)
	inner := &agent.Agent{
		Name: "finance", Tools: b.tools(),
		Model: asks(call("c1", "pay", `{"amount":2}`), call("n2", "look", `{}`)),
	}
	tool := inner.AsTool("ask_finance", "Ask finance.")
	tool.NeedsApproval = agent.AlwaysAsk
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if len(outputs(req)) == 0 {
			*turns++
		}
		three := asks(
			call("c1", "pay", `{"amount":1}`), call("c2", "ask_finance", `{"input":"pay two"}`),
			call("c3", "look", `{}`),
		)
		return three(req)
	}), append(b.tools(), tool)...)
	return turns
}

// crashAt lives through a run and dies once; it reports false when the run was over before that.
func crashAt(t *testing.T, story func(*bench) *int, n int, behind bool) (died bool) {
	t.Helper()
	b := newBench(t)
	turns := story(b)
	b.mortal.dieAt(n, behind)
	b.start()
	in := b.submission(ann, place, "please")
	var id approvals.RunID
	b.until("the run", func() bool {
		if b.mortal.dead.Load() {
			died = true
			b.reopen()
			b.start()
		}
		if receipt, err := b.service.Submit(b.Context(), in); err == nil && receipt.Run != "" {
			id = receipt.Run
		}
		if id == "" {
			id = b.onlyRun()
		}
		return id != "" && b.answerAll(id)
	})
	b.until("the outbox", func() bool { return b.mortal.dead.Load() || b.delivered() })
	b.stop()
	if b.mortal.dead.Load() {
		died = true
		b.reopen()
		b.start()
		b.until("the outbox", b.delivered)
		b.stop()
	}
	b.invariants("at the end")
	if got := b.run(id); !strings.Contains(got.Output, "c3: look done") {
		t.Errorf("output %q", got.Output)
	}
	if *turns > 2 {
		t.Errorf("the first turn was asked of the model %d times", *turns)
	}
	return died
}

// onlyRun returns the run of the place, if the store has one.
func (b *bench) onlyRun() (id approvals.RunID) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		r, err := tx.ActiveRun(ws, place)
		if err == nil {
			id = r.ID
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

// answerAll answers what is pending and reports whether the run has ended. Errors of a dead process are not the test's.
func (b *bench) answerAll(id approvals.RunID) bool {
	r, err := b.service.Run(b.Context(), ws, id)
	if err != nil {
		return false
	}
	for _, q := range b.pending(id) {
		verdict := approvals.Approve
		if q.Kind == agent.OutcomeUnknown {
			verdict = approvals.MarkDone
		}
		b.decide(q, bob, verdict, "seen") //nolint:errcheck // tried again
	}
	return r.Status.Ended()
}

// delivered reports whether the outbox of the place is empty.
func (b *bench) delivered() bool {
	empty := false
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		all, err := tx.Notifications(ws, place, "", 1)
		empty = len(all) == 0
		return err
	})
	return err == nil && empty
}
