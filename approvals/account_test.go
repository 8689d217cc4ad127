package approvals_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestAnsweredQuestionIsNotDoubted cancels a run after a person has said what became of a call that a crash left open.
func TestAnsweredQuestionIsNotDoubted(t *testing.T) {
	t.Parallel()
	for _, v := range []approvals.Verdict{approvals.MarkDone, approvals.GiveUp} {
		b := newBench(t)
		b.dying(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			if len(outputs(req)) == 0 {
				return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
			}
			return []agent.Item{call("c2", "look", `{"amount":5}`)}, nil
		}), "pay", 1)
		b.start()
		r := b.question(b.submit())
		b.must(r, bob, approvals.Approve, "")
		b.crashed()
		r = b.question(r.Run)
		b.reaches(r.Run, approvals.RunWaiting)
		b.must(r, cara, v, "receipt 7")
		b.until("next", func() bool { p := b.pending(r.Run); return len(p) == 1 && p[0].Tool.Name == "look" })
		b.reaches(r.Run, approvals.RunWaiting)
		run, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, "")
		if err != nil {
			t.Fatal(err)
		}
		want := "Unknown whether it was carried out: pay. Not carried out: look."
		if v == approvals.MarkDone {
			want = "Carried out before that: pay. Not carried out: look."
		}
		if !strings.HasSuffix(run.Failure, want) {
			t.Errorf("%s: %q", v, run.Failure)
		}
		if n := b.count(approvals.AuditEffectUnknown); n != 1 { // as the crash was found out, and not again
			t.Errorf("%s: the trail doubts %d effects", v, n)
		}
		b.stop()
	}
}

// TestMarkedDoneIsNotDoubted has a person say that a call happened whose server did not answer: the run ends, and
// nobody hears anything else later.
func TestMarkedDoneIsNotDoubted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{}, fmt.Errorf("timeout: %w", agent.ErrOutcomeUnknown)
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
		b.start()
		id := b.submit()
		time.Sleep(time.Second)
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		time.Sleep(time.Second)
		b.must(b.pending(id)[0], cara, approvals.MarkDone, "receipt 7")
		time.Sleep(time.Minute)
		if got := b.surface.texts(approvals.NotifyNotice); len(got) != 0 {
			t.Errorf("the run is %s, cara has the receipt, and the thread reads %q", b.run(id).Status, got)
		}
		b.stop()
		b.store.Close()
	})
}

// TestMemoryOfNestedCallIDs has an agent inside call a tool under an id that the outer agent uses too: ids of calls
// are unique only within a conversation.
func TestMemoryOfNestedCallIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inner := &agent.Agent{Name: "finance", Tools: b.tools(),
		Model: model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			if told := outputs(req); len(told) > 0 {
				return []agent.Item{call("call_3", "look", `{"amount":7}`)}, nil
			}
			return []agent.Item{call("call_1", "pay", `{"amount":7}`)}, nil
		})}
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		return []agent.Item{
			call("call_0", "ask_finance", `{"input":"x"}`), call("call_1", "pay", `{"amount":1000}`),
		}, nil
	}), append(b.tools(), inner.AsTool("ask_finance", "Ask finance."))...)
	b.start()
	id := b.submit()
	b.until("both", func() bool { return len(b.pending(id)) == 2 })
	for _, r := range b.pending(id) {
		if r.Agent == "finance" {
			b.must(r, bob, approvals.Approve, "")
		}
	}
	b.until("inner look", func() bool {
		p := b.pending(id)
		return len(p) == 2 && (p[0].Tool.Name == "look" || p[1].Tool.Name == "look")
	})
	b.reaches(id, approvals.RunWaiting)
	if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	b.stop()
	b.store.View(t.Context(), func(tx approvals.Tx) error {
		chunks, _, err := tx.SessionTail(ws, place, 1<<20)
		if len(b.effects.all()) != 1 || strings.Contains(string(chunks[0]), "pay done") {
			t.Errorf("the payment of 1000 was never decided (effects %v), and the next run reads: %s", b.effects.all(),
				chunks[0])
		}
		return err
	})
}

// TestRetryThatNeverBegan cancels a run before a retry began: the first attempt may have happened.
func TestRetryThatNeverBegan(t *testing.T) {
	t.Parallel()
	b, r := unknown(t, lenient(), bob)
	b.stop()
	b.must(r, cara, approvals.Retry, "")
	if _, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, ""); err != nil {
		t.Fatal(err)
	}
	for _, q := range b.requests(r.Run) {
		if q.Outcome == approvals.OutcomeNotRun {
			t.Errorf("the question whether the payment happened ends with %q, %q", q.Outcome, q.Note)
		}
	}
}

// TestOutputBeforeTheQuestion has the output of a call recorded between the finding that nobody knows it and the
// question.
func TestOutputBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[0].Invoke
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			time.Sleep(40 * time.Second)
			return out, err
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
		id := b.submit()
		r1 := &replica{Store: b.store}
		one := b.handler(t.Context(), r1)
		st := &slowSettle{Store: b.store}
		two := b.handler(t.Context(), st)
		if err := one(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.must(b.pending(id)[0], bob, approvals.Approve, "")
		var wg sync.WaitGroup
		wg.Go(func() { one(runJob(id)) })
		time.Sleep(time.Second)
		r1.fail(errLine) // the line breaks; the tool is at work
		time.Sleep(20 * time.Second)
		st.pause = 30 * time.Second // from the second write on: the claim goes through, the settlement is slow
		wg.Go(func() { two(runJob(id)) })
		time.Sleep(10 * time.Second)
		r1.fail(nil)
		wg.Wait()
		e := b.effects.all()
		for _, q := range b.requests(id) {
			if q.Kind == agent.OutcomeUnknown && q.Status == approvals.RequestPending {
				t.Errorf("people are asked what became of a call whose output is recorded (%q), effects %d, run %s",
					b.request(r.ID).Outcome, len(e), b.run(id).Status)
			}
		}
		b.store.Close()
	})
}

// TestOutputAfterGivingUp has people give up a call in the middle of a run whose output arrives before the run ends.
func TestOutputAfterGivingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[0].Invoke
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			time.Sleep(40 * time.Second)
			return out, err
		}
		b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			if len(outputs(req)) == 0 {
				return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
			}
			if len(outputs(req)) == 1 {
				return []agent.Item{call("c2", "look", `{"amount":5}`)}, nil
			}
			return []agent.Item{agent.AssistantMessage(outputs(req)["c1"])}, nil
		}), tools...)
		id := b.submit()
		r1 := &replica{Store: b.store}
		one := b.handler(t.Context(), r1)
		two := b.handler(t.Context(), &replica{Store: b.store})
		one(runJob(id))
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		go one(runJob(id))
		time.Sleep(time.Second)
		r1.fail(errLine)
		time.Sleep(20 * time.Second)
		if err := two(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.must(b.pending(id)[0], cara, approvals.GiveUp, "no idea")
		if err := two(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r1.fail(nil)
		time.Sleep(time.Minute)
		b.must(b.pending(id)[0], cara, approvals.Approve, "")
		if err := two(runJob(id)); err != nil {
			t.Fatal(err)
		}
		two(deliverJob(place))
		if got := b.surface.texts(approvals.NotifyNotice); len(got) == 0 {
			t.Errorf("the payment was made; thread and memory never hear of it")
		}
		b.store.Close()
	})
}

// slowSettle delays every write but the first two (claim, intent).
type slowSettle struct {
	approvals.Store
	mu    sync.Mutex
	n     int
	pause time.Duration
}

func (s *slowSettle) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	if n > 2 {
		time.Sleep(s.pause)
		ctx = context.WithoutCancel(ctx)
	}
	return s.Store.Update(ctx, fn)
}

// TestStoppedCallIsToldSoon cancels a run whose tool then stops without a word: people hear at once that nobody knows
// what came of it, not only when the clean-up has given up waiting, and they hear it once.
func TestStoppedCallIsToldSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		tools[0].Invoke = func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			<-ctx.Done()
			return agent.ToolOutput{}, ctx.Err()
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
		b.start()
		id := b.submit()
		time.Sleep(time.Second)
		r := b.must(b.pending(id)[0], bob, approvals.Approve, "")
		time.Sleep(time.Second)
		if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
			t.Fatal(err)
		}
		if got := b.run(id).Failure; !strings.Contains(got, "Still running: pay;") {
			t.Errorf("the end says %q", got)
		}
		time.Sleep(20 * time.Second)
		const told = "Unknown whether it was carried out: pay. It was stopped when the run ended."
		if got := b.surface.texts(approvals.NotifyNotice); len(got) != 2 || got[1] != told {
			t.Errorf("the place was told %q", got)
		}
		if got := b.request(r.ID).Outcome; got != approvals.OutcomeUnknown {
			t.Errorf("the request says %q", got)
		}
		err := b.store.View(t.Context(), func(tx approvals.Tx) error {
			chunks, _, err := tx.SessionTail(ws, place, 1<<20)
			memory := fmt.Sprintf("%s", chunks)
			if !strings.Contains(memory, "It is not known whether the call c1 of pay") {
				t.Errorf("the thread's memory says %s", memory)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Minute)
		if got := b.surface.texts(approvals.NotifyNotice); len(got) != 2 {
			t.Errorf("it was told more than once: %q", got)
		}
		b.trail()
		b.stop()
		b.store.Close()
	})
}

// TestCancelledQuestionIsUnknown cancels a run while people are asked what became of a call: the end says that nobody
// knows, not that it is running.
func TestCancelledQuestionIsUnknown(t *testing.T) {
	t.Parallel()
	b, r := unknown(t, lenient(), bob)
	run, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Failure, "Unknown whether it was carried out: pay.") ||
		strings.Contains(run.Failure, "running") {
		t.Errorf("the end says %q", run.Failure)
	}
	b.stop()
	b.trail()
}

// TestFailedRunLeavesNoCallRunning has a run fail while one of its calls is of unknown outcome: nothing works on the
// call any more, and the end says so.
func TestFailedRunLeavesNoCallRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tools := b.tools()
	tools[1].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, agent.ErrOutcomeUnknown
	}
	broken := &agent.Agent{Name: "finance", Model: model(func(*agent.ModelRequest) ([]agent.Item, error) {
		return nil, agent.ErrConfig
	})}
	tools = append(tools, broken.AsTool("ask_finance", "Ask finance."))
	b.agent(asks(call("c1", "note", `{}`), call("c2", "ask_finance", `{"input":"x"}`)), tools...)
	b.start()
	run := b.reaches(b.submit(), approvals.RunFailed)
	if !strings.HasSuffix(run.Failure, " Unknown whether it was carried out: note.") {
		t.Errorf("the end says %q", run.Failure)
	}
	if n := b.count(approvals.AuditEffectUnknown); n != 1 {
		t.Errorf("the trail doubts %d effects", n)
	}
	b.stop()
}

// TestCancelNamesWhatIsDoneElsewhere cancels a run that waits for a result: nobody knows whether somebody is at it.
func TestCancelNamesWhatIsDoneElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(model(deploys), external())
	b.start()
	r := b.question(b.submit())
	b.reaches(r.Run, approvals.RunWaiting)
	run, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, "")
	if err != nil {
		t.Fatal(err)
	}
	const want = "Nobody has reported a result, and it is unknown whether somebody has carried it out: "
	if !strings.Contains(run.Failure, want+r.Tool.Name+".") {
		t.Errorf("the end says %q", run.Failure)
	}
	b.stop()
}

// TestChangedWhileItRuns has an idempotent tool change while another worker is still at its call: people are asked what
// became of it, and not any more when the call finishes. It does not run again, and both requests say what is true of
// them.
func TestChangedWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[2].Invoke
		tools[2].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			time.Sleep(40 * time.Second)
			return out, err
		}
		m := asks(call("c1", "look", `{"amount":5}`))
		b.agent(m, tools...)
		id := b.submit()
		r1 := &replica{Store: b.store}
		one, two := b.handler(t.Context(), r1), b.handler(t.Context(), &replica{Store: b.store})
		if err := one(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		go one(runJob(id))
		time.Sleep(time.Second)
		r1.fail(errLine) // the line breaks; the tool is at work
		time.Sleep(20 * time.Second)
		tools[2].Version = "2"
		b.agent(m, tools...)
		if err := two(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r1.fail(nil)
		if got := b.pending(id)[0].Kind; got != agent.OutcomeUnknown {
			t.Errorf("people are asked a question of kind %s", got)
		}
		time.Sleep(time.Minute)
		if got := b.pending(id); len(got) != 0 {
			t.Errorf("people are still asked: %v", got)
		}
		if err := two(runJob(id)); err != nil {
			t.Fatal(err)
		}
		all := b.requests(id)
		if len(all) != 2 || all[0].Outcome != approvals.OutcomeRan || all[1].Outcome != approvals.OutcomeRan {
			for _, r := range all {
				t.Errorf("%s: %s, %q: %s", r.Kind, r.Status, r.Outcome, r.Note)
			}
		}
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("%d effects", n)
		}
		b.trail()
		b.store.Close()
	})
}
