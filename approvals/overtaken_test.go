package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals"
)

// TestAnsweredBeforeTheStandingAnswerIsUsed has somebody answer a call while the run goes on with an answer that is
// meant for all calls of the tool, but does not meet what this call's policy demands: the answer to the call itself is
// what counts.
func TestAnsweredBeforeTheStandingAnswerIsUsed(t *testing.T) {
	t.Parallel()
	for _, verdict := range []approvals.Verdict{approvals.Reject, approvals.Approve} {
		b := newBench(t)
		b.onlyCara(`{"amount":2}`)
		var second *approvals.Request
		tools := b.tools()
		meanwhile := func(_ context.Context, c *agent.ToolCall) (guardrail.Verdict, error) {
			if c.ID == "c2" && second != nil {
				b.must(second, cara, verdict, "as I say")
				second = nil
			}
			return guardrail.Verdict{}, nil
		}
		tools[0].InputGuardrails = []agent.ToolInputGuardrail{{Name: "meanwhile", Check: meanwhile}}
		b.agent(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)), tools...)
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		both := b.pending(id)
		second = both[1]
		b.must(both[0], bob, approvals.AlwaysApprove, "")
		if got := b.request(both[1].ID); got.Status == approvals.RequestApproved && got.Settler().By == bob {
			t.Fatal("the standing answer settled a call that bob may not decide")
		}
		got := b.reaches(id, approvals.RunDone).Output
		rejects := verdict == approvals.Reject
		if n := len(b.effects.all()); (n == 1) != rejects || strings.Contains(got, "as I say") != rejects {
			t.Errorf("%s: %d effects, the model was told %q", verdict, n, got)
		}
	}
}

// onlyCara makes calls with these arguments cara's to decide.
func (b *bench) onlyCara(arguments string) {
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		if string(r.Arguments) == arguments {
			q.Policy = "cara's"
			askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
		}
		return q, nil
	})
}

// TestStandingRejectionLeavesNothingToApprove has somebody answer a call after all calls of its tool were rejected,
// before the run has heard of it. An approval given before that counts.
func TestStandingRejectionLeavesNothingToApprove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		verdict approvals.Verdict
		before  bool // the approval comes before the rejection
		want    error
		effects int
	}{
		{"approved after", approvals.AlwaysReject, false, approvals.ErrConflict, 0},
		{"approved before", approvals.AlwaysReject, true, nil, 1},
		{"rejected once", approvals.Reject, false, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			other := b.tools()[0]
			other.Name = "transfer"
			three := asks(
				call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`),
				call("c3", "transfer", `{"amount":3}`),
			)
			b.agent(three, append(b.tools(), other)...)
			b.start()
			id := b.submit()
			b.until("all questions", func() bool { return len(b.pending(id)) == 3 })
			b.reaches(id, approvals.RunWaiting)
			b.stop()
			all := b.pending(id)
			var err error
			if c.before {
				_, err = b.decide(all[1], cara, approvals.Approve, "")
			}
			b.must(all[0], bob, c.verdict, "never")
			if !c.before {
				_, err = b.decide(all[1], cara, approvals.Approve, "")
			}
			if !errors.Is(err, c.want) {
				t.Errorf("approving the second: %v, want %v", err, c.want)
			}
			if got := b.request(all[2].ID); got.Status != approvals.RequestPending {
				t.Errorf("the other tool's request is %s", got.Status)
			}
			b.start()
			b.must(all[2], bob, approvals.Reject, "")
			got := b.reaches(id, approvals.RunDone)
			if n := len(b.effects.all()); n != c.effects {
				t.Errorf("%d effects, want %d: %s", n, c.effects, got.Output)
			}
			b.until("what people are told", b.delivered)
			b.invariants("at the end")
		})
	}
}

// TestLastStandingAnswerCounts has two people mean opposite things for all calls of a tool, in either order. The
// question of the one waits whatever the other answers. A later call of the tool goes by the later answer.
func TestLastStandingAnswerCounts(t *testing.T) {
	t.Parallel()
	for _, bobFirst := range []bool{true, false} {
		b := newBench(t)
		b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
			q := lenient()
			switch string(r.Arguments) {
			case `{"amount":1}`:
				askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob}})
			case `{"amount":2}`:
				askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
			}
			return q, nil
		})
		b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			switch told := outputs(req); len(told) {
			case 0:
				return []agent.Item{call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)}, nil
			case 2:
				return []agent.Item{call("c3", "pay", `{"amount":3}`)}, nil
			default:
				return []agent.Item{agent.AssistantMessage(told["c3"])}, nil
			}
		}))
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		b.reaches(id, approvals.RunWaiting)
		b.stop()
		all := b.pending(id)
		if bobFirst {
			b.must(all[0], bob, approvals.AlwaysApprove, "")
			b.must(all[1], cara, approvals.AlwaysReject, "none of them")
		} else {
			b.must(all[1], cara, approvals.AlwaysReject, "none of them")
			b.must(all[0], bob, approvals.AlwaysApprove, "")
		}
		b.start()
		got := b.reaches(id, approvals.RunDone)
		want := 2 // the first and the third
		if bobFirst {
			want = 1
		}
		if n := len(b.effects.all()); n != want {
			t.Errorf("bob first %v: %d effects, want %d: %s", bobFirst, n, want, got.Output)
		}
		b.until("what people are told", b.delivered)
		b.invariants("at the end")
	}
}

// TestAllRejectedWhileAnotherCallIsOnItsWay has somebody reject all calls of a tool while an agent inside is about to
// make the next one, which an earlier answer covers and nobody is asked about.
func TestAllRejectedWhileAnotherCallIsOnItsWay(t *testing.T) {
	t.Parallel()
	for _, verdict := range []approvals.Verdict{approvals.AlwaysReject, approvals.Reject} {
		b := newBench(t)
		b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
			q := lenient()
			if string(r.Arguments) == `{"amount":100}` { // no standing answer covers it
				q.Policy = "large"
				quorum(&q, 2)
			}
			return q, nil
		})
		var large *approvals.Request
		inside := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			told := outputs(req)
			switch {
			case strings.Contains(req.Items[0].Text, "large") && len(told) == 0:
				return []agent.Item{call("n1", "pay", `{"amount":100}`)}, nil
			case strings.Contains(req.Items[0].Text, "large"), len(told) == 2:
				return []agent.Item{agent.AssistantMessage("done inside")}, nil
			case len(told) == 0:
				return []agent.Item{call("n1", "pay", `{"amount":1}`)}, nil
			}
			b.must(large, cara, verdict, "no more")
			return []agent.Item{call("n2", "pay", `{"amount":2}`)}, nil
		})
		finance := &agent.Agent{Name: "finance", Tools: b.tools(), Model: inside}
		b.agent(asks(
			call("c1", "ask_finance", `{"input":"small"}`), call("c2", "ask_finance", `{"input":"large"}`),
		), finance.AsTool("ask_finance", "Ask finance."))
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		b.reaches(id, approvals.RunWaiting)
		small := b.pending(id)[0]
		large = b.pending(id)[1]
		if string(small.Arguments) != `{"amount":1}` {
			small, large = large, small
		}
		b.must(small, bob, approvals.AlwaysApprove, "")
		if verdict == approvals.Reject {
			b.reaches(id, approvals.RunDone)
			if n := len(b.effects.all()); n != 2 {
				t.Errorf("control: %d effects, want 2", n)
			}
			continue
		}
		b.reaches(id, approvals.RunDone)
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("%d effects, want 1: %v", n, b.effects.all())
		}
		next := b.requests(id)[2]
		if a := next.Standing(); next.Status != approvals.RequestRejected || a == nil || a.Request != large.ID {
			t.Errorf("the next call's request is %s, by %+v", next.Status, a)
		}
	}
}
