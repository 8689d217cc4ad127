package approvals_test

import (
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestRevokedBeforeItsTurn revokes a grant when calls that waited were approved with it and have not begun: they are
// asked about again. The call that the answer was about keeps its approval, and so does one that had an answer of its
// own, which is the control.
func TestRevokedBeforeItsTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":1}`, `{"amount":2}`, `{"amount":3}`)
	run := b.submit()
	b.until("three questions", func() bool { return len(b.pending(run)) == 3 })
	b.stop()
	asked := b.pending(run)
	b.must(asked[1], cara, approvals.Approve, "")
	terms := approvals.GrantTerms{Scope: approvals.ScopeThread}
	b.check(b.grant(asked[0], bob, approvals.AlwaysApprove, terms))
	covered := b.request(asked[2].ID)
	if covered.Status != approvals.RequestApproved || covered.Outcome != approvals.OutcomeNone {
		t.Fatalf("the third call is %s, %q", covered.Status, covered.Outcome)
	}
	b.check(b.revoke(b.grants()[0].ID, bob))
	covered = b.request(asked[2].ID)
	if covered.Status != approvals.RequestStale || covered.Outcome != approvals.OutcomeNotRun {
		t.Errorf("the third call is %s, %q; want stale, not run", covered.Status, covered.Outcome)
	}
	b.start()
	b.until("the third call to be asked about again", func() bool { return len(b.pending(run)) == 1 })
	again := b.pending(run)[0]
	if again.Interruption != asked[2].Interruption || b.request(asked[2].ID).AskedAgain != again.ID {
		t.Errorf("%s asks about %s, want the third call", again.ID, again.Interruption)
	}
	if paid := b.effects.all(); len(paid) != 2 {
		t.Errorf("paid %v, want the first two", paid)
	}
	b.must(again, cara, approvals.Approve, "")
	b.reaches(run, approvals.RunDone)
	if paid := b.effects.all(); len(paid) != 3 {
		t.Errorf("paid %v in the end, want all three", paid)
	}
	b.until("the answer", b.delivered)
	b.invariants("at the end")
	b.trail()
}

// TestRevokedBeforeItIsReported: of a call that was handed to another system nobody here knows whether it has begun, so
// that its approval stays.
func TestRevokedBeforeItIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	tools := b.tools()
	tools[0].External, tools[0].Invoke = true, nil // pay, of no kind of its own: a grant is taken for it
	b.agent(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)), tools...)
	b.start()
	run := b.submit()
	b.until("two questions", func() bool { return len(b.pending(run)) == 2 })
	asked := b.pending(run)
	b.check(b.grant(asked[0], bob, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread}))
	b.until("two questions for results", func() bool {
		waiting := b.pending(run)
		return len(waiting) == 2 && waiting[0].Kind == agent.ExternalResult && waiting[1].Kind == agent.ExternalResult
	})
	b.stop()
	b.check(b.revoke(b.grants()[0].ID, bob))
	if after := b.request(asked[1].ID); after.Status != approvals.RequestApproved {
		t.Errorf("the call that was handed over is %s", after.Status)
	}
}

// TestGrantOfARunThatHasEnded: a grant for a run covers nothing once the run has ended, and is not said to be active.
func TestGrantOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(generous())
	b.start()
	b.pays(`{"amount":1}`, `{"amount":2}`)
	run := b.submit()
	b.until("two questions", func() bool { return len(b.pending(run)) == 2 })
	asked := b.pending(run)
	terms := approvals.GrantTerms{Scope: approvals.ScopeRun, Uses: 5}
	b.check(b.grant(asked[0], bob, approvals.AlwaysApprove, terms))
	g := b.grants()[0]
	b.reaches(run, approvals.RunDone)
	if state, why := b.state(g.ID); state != approvals.GrantInert || why != "the run that it is for has ended" {
		t.Errorf("the grant is %s: %q", state, why)
	}
}
