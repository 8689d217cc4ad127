package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// A year by which a clock was ahead, before somebody set it right and started the program again.
const ahead = 365 * 24 * time.Hour

// TestGrantOfAClockAheadNeverRevives gives a grant for an hour while the clock is a year ahead. Once the clock is
// right, calls are asked about; and so they are a year later, when the grant would seem to have begun just now.
func TestGrantOfAClockAheadNeverRevives(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st := &later{Store: b.store}
	st.by.Store(int64(ahead))
	b.serve(st)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":5,"to":"acme"}`)
	g := b.granted(b.question(b.submit()), bob, approvals.AlwaysApprove, approvals.GrantTerms{
		Scope: approvals.ScopeThread, TTL: time.Hour,
	})
	b.unasked(place, `{"amount":6}`)
	b.until("all is told", b.delivered)
	b.stop()
	st.by.Store(0)
	b.start()
	b.asked(place, `{"amount":7}`)
	st.by.Store(int64(ahead + 10*time.Minute))
	b.asked(place, `{"amount":8}`)
	if state, why := b.state(g.ID); state == approvals.GrantActive {
		t.Errorf("a year after it was to end the grant is %s %s", state, why)
	}
	b.trail()
}

// TestAnswerIsNotDoubtedByAClockAhead has a call begin while the clock is a year ahead, and the process die. A person
// says what became of it once the clock is right: that counts, although it seems to be older than the call.
func TestAnswerIsNotDoubtedByAClockAhead(t *testing.T) {
	t.Parallel()
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
	b.forgeEffects(r.Run, func(e *approvals.EffectRecord) { e.Intent = e.Intent.Add(ahead) })
	b.must(r, cara, approvals.MarkDone, "receipt 7")
	b.until("next", func() bool { p := b.pending(r.Run); return len(p) == 1 && p[0].Tool.Name == "look" })
	b.reaches(r.Run, approvals.RunWaiting)
	run, err := b.service.CancelRun(t.Context(), ws, r.Run, ann, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Failure, "Carried out before that: pay.") {
		t.Errorf("cara has the receipt, and people read %q", run.Failure)
	}
}

// forgeEffects changes the effects of a run behind everybody's back.
func (b *bench) forgeEffects(id approvals.RunID, change func(*approvals.EffectRecord)) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		all, err := tx.EffectsOfRun(ws, id)
		for _, e := range all {
			change(e)
			err = errors.Join(err, tx.PutEffect(e))
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// TestCallPlannedByAClockAheadIsSent has the job be lost that sends a call, which was planned while the clock was a
// year ahead.
func TestCallPlannedByAClockAheadIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := triggering(t, external())
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.stop()
		r := b.requests(id)[0]
		b.forge(r.ID, func(r *approvals.Request) { r.Trigger.At = r.Trigger.At.Add(ahead) })
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			return tx.DeleteJob(ws, approvals.JobTrigger, string(r.ID))
		})
		if err != nil {
			t.Fatal(err)
		}
		b.start()
		time.Sleep(5 * time.Minute)
		if n := len(b.trigger.all()); n != 1 {
			t.Errorf("after five minutes the call was sent %d times", n)
		}
		b.stop()
		b.store.Close()
	})
}

// TestGivenUpLetterOfAClockAhead has a notification fail for good that was written while the clock was a year ahead: it
// does not hold up its place for a year.
func TestGivenUpLetterOfAClockAhead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	if err := step(runJob(b.submit())); err != nil {
		t.Fatal(err)
	}
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		all, err := tx.Notifications(ws, place, "", 10)
		for _, n := range all {
			n.Created = n.Created.Add(ahead)
			err = errors.Join(err, tx.PutNotification(n))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.surface.fail(errors.New("a thing that never works"))
	job := deliverJob(place)
	job.Attempts = 1400 // most of a day: a minute is the longest pause
	if err := step(job); err == nil || b.deadLetters() != 0 {
		t.Errorf("given up after less than a day: %v", err)
	}
	job.Attempts = 1800
	if err := step(job); err != nil || b.deadLetters() != 1 {
		t.Errorf("after more than a day it is still tried, and nothing behind it is delivered: %v", err)
	}
}

// TestLaterRejectionCountsWhateverTheClock has somebody allow all calls while the clock is a year ahead, and somebody
// else reject all calls after that, once it is right: which of the two is the later one cannot be told by their times.
func TestLaterRejectionCountsWhateverTheClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		q.ValidFor = 0
		if string(r.Arguments) == `{"amount":1}` {
			askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
		}
		return q, nil
	})
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch len(outputs(req)) {
		case 0:
			return []agent.Item{call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)}, nil
		case 2:
			return []agent.Item{call("c3", "pay", `{"amount":3}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("done")}, nil
	}))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	both := b.pending(id)
	b.must(both[1], bob, approvals.AlwaysApprove, "")
	b.forge(both[1].ID, func(r *approvals.Request) { r.Settled = r.Settled.Add(ahead) })
	b.must(both[0], cara, approvals.AlwaysReject, "no more of these")
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.effects.all() {
		if e.arguments == `{"amount":3}` {
			t.Error("paid, and nobody was asked, after cara had rejected all such calls")
		}
	}
}

func (b *bench) deadLetters() int {
	b.Helper()
	all, err := b.service.DeadLetters(b.Context(), ws, "", 0)
	if err != nil {
		b.Fatal(err)
	}
	return len(all)
}

// TestOpenCallOfAClockAheadIsGivenUp cancels a run while one of its calls runs and the clock is a year ahead, and has
// the process die: people are told that nobody knows what came of the call, and not in a year.
func TestOpenCallOfAClockAheadIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	running := make(chan struct{})
	tools := b.tools()
	tools[0].Invoke = func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
		close(running)
		<-ctx.Done()
		return agent.ToolOutput{}, ctx.Err()
	}
	b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
	b.worker.Drain = time.Millisecond
	b.start()
	id := b.submit()
	b.reaches(id, approvals.RunWaiting)
	b.must(b.pending(id)[0], bob, approvals.Approve, "")
	<-running
	if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	b.mortal.kill()
	b.reopen()
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		r, err := tx.Run(ws, id)
		if err != nil {
			return err
		}
		r.Ended = r.Ended.Add(ahead)
		return tx.PutRun(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	step := b.step()
	err = step(approvals.Job{Workspace: ws, Kind: approvals.JobCleanup, ID: string(id)})
	if got := b.requests(id)[0].Outcome; err != nil || got != approvals.OutcomeUnknown {
		t.Errorf("the call is %q: %v", got, err)
	}
}
