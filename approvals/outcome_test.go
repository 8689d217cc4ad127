package approvals_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// TestStandingAnswerSettlesWhatItCovers has two calls of a tool wait in one turn and somebody always approve, or
// always reject, the second: the first is settled by that person too, with a reference to the answer, and nothing that
// ran is called cancelled.
func TestStandingAnswerSettlesWhatItCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict approvals.Verdict
		status  approvals.RequestStatus
		outcome approvals.Outcome
		effects int
	}{
		{approvals.AlwaysApprove, approvals.RequestApproved, approvals.OutcomeRan, 2},
		{approvals.AlwaysReject, approvals.RequestRejected, approvals.OutcomeNotRun, 0},
	} {
		t.Run(string(c.verdict), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)))
			b.start()
			id := b.submit()
			var both []*approvals.Request
			b.until("both questions with their cards", func() bool {
				both = b.pending(id)
				return len(both) == 2 && len(both[0].Cards) > 0 && len(both[1].Cards) > 0
			})
			if covers := b.request(both[1].ID).Covers; len(covers) != 1 || covers[0].ID != both[0].ID {
				t.Errorf("the second covers %+v", covers)
			}
			recorded, err := b.service.Recorded(t.Context(), ws, both[1].ID)
			if diff := cmp.Diff(both[1], recorded); err != nil || diff != "" {
				t.Errorf("as recorded (-want +got): %v\n%s", err, diff)
			}
			b.must(both[1], bob, c.verdict, "they are all alike")
			b.reaches(id, approvals.RunDone)
			for i, r := range []*approvals.Request{b.request(both[0].ID), b.request(both[1].ID)} {
				if r.Status != c.status || r.Outcome != c.outcome || r.Settler().By != bob {
					t.Errorf("request %d: %s, %s, by %+v", i+1, r.Status, r.Outcome, r.Settler())
				}
			}
			first := b.request(both[0].ID)
			a := first.Standing()
			if a == nil || a.Request != both[1].ID || a.Decision != b.request(both[1].ID).Settler().ID {
				t.Errorf("the first follows from %+v", a)
			}
			if n := b.count(approvals.AuditRequestCancelled); n != 0 {
				t.Errorf("%d requests cancelled", n)
			}
			if n := len(b.effects.all()); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
			for _, e := range b.entries() {
				if e.Action == approvals.AuditEffectDone && b.request(e.Request).Digest.String() != fact(e, "digest") {
					t.Errorf("effect %s stands under the request of another call", fact(e, "effect"))
				}
			}
		})
	}
}

// TestStandingAnswerAsMuchAsItsOwnPolicyLetsIt leaves a call waiting that needs two people, or somebody else.
func TestStandingAnswerAsMuchAsItsOwnPolicyLetsIt(t *testing.T) {
	t.Parallel()
	for name, stricter := range map[string]func(*approvals.Requirement){
		"two people": func(q *approvals.Requirement) { quorum(q, 2) },
		"somebody else": func(q *approvals.Requirement) {
			askOf(q, approvals.Approvers{Users: []approvals.UserID{cara}})
		},
		"no standing answers":    func(q *approvals.Requirement) { q.Always = nil },
		"high risk":              func(q *approvals.Requirement) { q.Risk = approvals.RiskHigh },
		"one each of two groups": func(q *approvals.Requirement) { q.Seats = oneEach("S1", "S2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.setGroup("S1", bob)
			b.people.setGroup("S2", cara)
			b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
				q := lenient()
				if string(r.Arguments) == `{"amount":1}` {
					stricter(&q)
				}
				return q, nil
			})
			b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`),
				call("c3", "pay", `{"amount":3}`)))
			b.start()
			id := b.submit()
			b.until("all questions", func() bool { return len(b.pending(id)) == 3 })
			all := b.pending(id)
			b.must(all[1], bob, approvals.AlwaysApprove, "")
			b.reaches(id, approvals.RunWaiting)
			b.until("the others", func() bool { return len(b.effects.all()) == 2 })
			if got := b.request(all[0].ID); got.Status != approvals.RequestPending {
				t.Errorf("the stricter one is %s by %+v", got.Status, got.Decisions)
			}
			if got := b.request(all[2].ID); got.Status != approvals.RequestApproved || got.Standing() == nil {
				t.Errorf("the like one is %s", got.Status)
			}
		})
	}
}

// oneEach asks for one person of each group.
func oneEach(groups ...string) (seats []approvals.Seat) {
	for _, g := range groups {
		seats = append(seats, approvals.Seat{Approvers: approvals.Approvers{Groups: []string{g}}})
	}
	return seats
}

// TestOneOfEach needs one person of each of two groups: two of one group do not do.
func TestOneOfEach(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", ann, bob)
	b.people.setGroup("S2", bob, cara)
	b.policy.always(with(func(q *approvals.Requirement) { q.Seats = oneEach("S1", "S2") }))
	b.start()
	id := b.submit()
	r := b.question(id)
	b.refused(r, out, approvals.Approve, approvals.ErrUnauthorized)
	for _, u := range []approvals.UserID{ann} {
		if got := b.must(r, u, approvals.Approve, ""); got.Status != approvals.RequestPending {
			t.Fatalf("%s alone suffices", u)
		}
	}
	if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestApproved { // S1: ann
		t.Fatalf("one of each: %s", got.Status)
	}
	b.reaches(id, approvals.RunDone)

	b.people.setGroup("S2", cara)
	b.people.setGroup("S1", ann, bob)
	id = b.submit()
	r = b.question(id)
	b.must(r, ann, approvals.Approve, "")
	if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestPending {
		t.Errorf("two of the same group suffice: %s", got.Status)
	}
	if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestApproved {
		t.Errorf("one of each and one more: %s", got.Status)
	}
}

// TestEveryRequestEndsWithTwoFacts goes through the ways in which a request ends.
func TestEveryRequestEndsWithTwoFacts(t *testing.T) {
	t.Parallel()
	failing := func(b *bench) {
		tools := b.tools()
		tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: "HTTP 500", Failed: true}, nil
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
	}
	for name, c := range map[string]struct {
		prepare func(b *bench)
		end     func(b *bench, r *approvals.Request)
		status  approvals.RequestStatus
		outcome approvals.Outcome
	}{
		"approved and ran": {nil, func(b *bench, r *approvals.Request) { b.must(r, bob, approvals.Approve, "") },
			approvals.RequestApproved, approvals.OutcomeRan},
		"approved and failed": {failing, func(b *bench, r *approvals.Request) { b.must(r, bob, approvals.Approve, "") },
			approvals.RequestApproved, approvals.OutcomeFailed},
		"rejected": {nil, func(b *bench, r *approvals.Request) { b.must(r, bob, approvals.Reject, "") },
			approvals.RequestRejected, approvals.OutcomeNotRun},
		"cancelled": {nil, func(b *bench, r *approvals.Request) {
			if _, err := b.service.CancelRun(b.Context(), ws, r.Run, ann, ""); err != nil {
				b.Fatal(err)
			}
		}, approvals.RequestCancelled, approvals.OutcomeNotRun},
		"approved, and the run ended first": {nil, func(b *bench, r *approvals.Request) {
			b.stop()
			b.must(r, bob, approvals.Approve, "")
			if _, err := b.service.CancelRun(b.Context(), ws, r.Run, ann, ""); err != nil {
				b.Fatal(err)
			}
			b.start()
		}, approvals.RequestApproved, approvals.OutcomeNotRun},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if c.prepare != nil {
				c.prepare(b)
			}
			b.start()
			id := b.submit()
			r := b.question(id)
			b.reaches(id, approvals.RunWaiting)
			c.end(b, r)
			b.until("the end", func() bool { return b.run(id).Status.Ended() })
			got := b.request(r.ID)
			if got.Status != c.status || got.Outcome != c.outcome || got.OutcomeAt.IsZero() {
				t.Errorf("%s, %q since %v", got.Status, got.Outcome, got.OutcomeAt)
			}
			b.until("the card", func() bool { return b.surface.outcome(r.ID) == c.outcome })
			b.trail()
		})
	}
}

// TestUnknownOutcomes follows both requests about a call whose output was lost.
func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict  approvals.Verdict
		call     approvals.Outcome // what the request that had allowed the call says in the end
		question approvals.Outcome
	}{
		{approvals.Retry, approvals.OutcomeRan, approvals.OutcomeRan},
		{approvals.MarkDone, approvals.OutcomeRan, approvals.OutcomeRan},
		{approvals.GiveUp, approvals.OutcomeUnknown, approvals.OutcomeUnknown},
	} {
		t.Run(string(c.verdict), func(t *testing.T) {
			t.Parallel()
			b, q := unknown(t, lenient(), bob)
			first := b.requests(q.Run)[0]
			if first.Outcome != approvals.OutcomeUnknown || first.Status != approvals.RequestApproved {
				t.Fatalf("before: %s, %q", first.Status, first.Outcome)
			}
			b.must(q, cara, c.verdict, "the bank says so")
			b.reaches(q.Run, approvals.RunDone)
			if got := b.request(first.ID).Outcome; got != c.call {
				t.Errorf("the call: %q, want %q", got, c.call)
			}
			if got := b.request(q.ID).Outcome; got != c.question {
				t.Errorf("the question: %q, want %q", got, c.question)
			}
			b.trail()
		})
	}
}

// TestCancelTellsWhatRan cancels a run while one call has run, one is running and one waits. Whoever reads the thread,
// the cards or the thread's memory learns of each what became of it.
func TestCancelTellsWhatRan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen []agent.Item
	release, running := make(chan struct{}), make(chan struct{})
	tools := b.tools()
	work := tools[0].Invoke
	tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		if c.ID == "c2" {
			close(running)
			<-release // heeds no context
		}
		return work(ctx, c)
	}
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		seen = req.Items
		if len(outputs(req)) > 0 || strings.Contains(lastText(req), "what happened") {
			return []agent.Item{agent.AssistantMessage("ok")}, nil
		}
		return []agent.Item{
			call("c1", "note", `{}`), call("c2", "pay", `{"amount":250}`), call("c3", "look", `{}`),
		}, nil
	}), tools...)
	b.start()
	id := b.submit()
	b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
	b.reaches(id, approvals.RunWaiting)
	pay, look := b.pending(id)[0], b.pending(id)[1]
	b.must(pay, bob, approvals.Approve, "")
	<-running
	got, err := b.service.CancelRun(t.Context(), ws, id, ann, "wrong thread")
	if err != nil {
		t.Fatal(err)
	}
	const want = `The run was cancelled: "wrong thread". Carried out before that: note. ` +
		"Still running: pay; what comes of it will be told here. Not carried out: look."
	if got.Failure != want {
		t.Errorf("people read %q\nwant        %q", got.Failure, want)
	}
	if r := b.request(pay.ID); r.Outcome != approvals.OutcomeRunning {
		t.Errorf("while it runs: %q", r.Outcome)
	}
	if r := b.request(look.ID); r.Status != approvals.RequestCancelled || r.Outcome != approvals.OutcomeNotRun {
		t.Errorf("what waited: %s, %q", r.Status, r.Outcome)
	}
	close(release)
	b.until("the late output", func() bool { return b.request(pay.ID).Outcome == approvals.OutcomeRan })
	b.until("the notices", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) == 2 })
	const late = "pay, which was still running when the run ended, has finished: it ran."
	if notice := b.surface.texts(approvals.NotifyNotice)[1]; notice != late {
		t.Errorf("people read %q", notice)
	}
	b.until("the card", func() bool { return b.surface.outcome(pay.ID) == approvals.OutcomeRan })

	receipt, err := b.service.Submit(t.Context(), b.submission(ann, place, "what happened?"))
	if err != nil {
		t.Fatal(err)
	}
	b.reaches(receipt.Run, approvals.RunDone)
	var told []string
	for _, it := range seen {
		told = append(told, it.Text+it.Output)
	}
	memory := strings.Join(told, "|")
	for _, want := range []string{
		"note done", "This call was still running when the run ended.", "the run ended before this call was decided",
		`has finished after all: it ran. Its output, as data: "pay done"`,
	} {
		if !strings.Contains(memory, want) {
			t.Errorf("the thread's memory lacks %q:\n%s", want, memory)
		}
	}
	b.trail()
}

// lastText returns the newest message of the user.
func lastText(req *agent.ModelRequest) (text string) {
	for _, it := range req.Items {
		if it.Type == agent.ItemMessage && it.Role == agent.RoleUser {
			text = it.Text
		}
	}
	return text
}

// TestExpiryThatCancelsTellsWhatRan is the same for a request whose expiry cancels the run.
func TestExpiryThatCancelsTellsWhatRan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
			return with(func(q *approvals.Requirement) {
				q.OnExpiry, q.ExpiresIn = approvals.ExpiryCancel, time.Hour
			}), nil
		})
		b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "look", `{}`)))
		b.start()
		id := b.submit()
		synctest.Wait()
		time.Sleep(time.Second)
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		time.Sleep(2 * time.Hour)
		got := b.run(id)
		const want = "The run was cancelled. A request for approval expired. Carried out before that: pay. " +
			"Not carried out: look."
		if got.Status != approvals.RunCancelled || got.Failure != want {
			t.Errorf("%s: %q", got.Status, got.Failure)
		}
		if all := b.requests(id); all[0].Outcome != approvals.OutcomeRan || all[1].Outcome != approvals.OutcomeNotRun ||
			all[1].Status != approvals.RequestExpired {
			t.Errorf("%s %q, %s %q", all[0].Status, all[0].Outcome, all[1].Status, all[1].Outcome)
		}
		b.stop()
		b.store.Close()
	})
}

// TestNobodyKnowsWhatBecameOfACall has a run cancelled while a call runs of which nothing is ever heard: that is said,
// and a late end is told all the same.
func TestNobodyKnowsWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		release := make(chan struct{})
		tools := b.tools()
		work := tools[0].Invoke
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			<-release
			return work(ctx, c)
		}
		b.agent(asks(call("c1", "pay", `{}`)), tools...)
		b.start()
		id := b.submit()
		time.Sleep(time.Second)
		r := b.pending(id)[0]
		b.must(r, bob, approvals.Approve, "")
		time.Sleep(time.Second)
		if _, err := b.service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if got := b.request(r.ID).Outcome; got != approvals.OutcomeUnknown {
			t.Errorf("after two minutes: %q", got)
		}
		notices := b.surface.texts(approvals.NotifyNotice)
		if len(notices) != 2 || !strings.HasPrefix(notices[1], "Unknown whether it was carried out: pay.") {
			t.Errorf("people read %q", notices)
		}
		close(release)
		time.Sleep(time.Second)
		if got := b.request(r.ID).Outcome; got != approvals.OutcomeRan {
			t.Errorf("after its end: %q", got)
		}
		b.trail()
		b.stop()
		b.store.Close()
	})
}
