package approvals_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// paysTwice is a model that pays a second time when the first payment has its output, and does something before.
func paysTwice(before func()) model {
	return func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch len(outputs(req)) {
		case 0:
			return []agent.Item{call("c1", "pay", `{"amount":1}`)}, nil
		case 1:
			before()
			return []agent.Item{call("c2", "pay", `{"amount":1000}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("done")}, nil
	}
}

// TestStandingAnswerOfSomebodyWhoLeft covers no later call: people are asked about it.
func TestStandingAnswerOfSomebodyWhoLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *bench)
		by     approvals.UserID
		paid   int
	}{
		"stays":           {func(*bench) {}, bob, 2},
		"left":            {func(b *bench) { b.people.deactivate(bob) }, bob, 1},
		"still stands in": {func(*bench) {}, user("dan"), 2},
		"no delegate":     {func(b *bench) { b.policy.delegates() }, user("dan"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			withDan(b)
			b.policy.always(named(1, bob))
			b.policy.delegates(onLeave(user("dan"), bob)...)
			b.model(paysTwice(func() { tt.change(b) }))
			b.start()
			id := b.submit()
			b.must(b.question(id), tt.by, approvals.AlwaysApprove, "")
			b.until("its end or a question", func() bool {
				return b.run(id).Status == approvals.RunDone || len(b.requests(id)) > 1
			})
			if n := len(b.effects.all()); n != tt.paid {
				t.Errorf("%d payments, want %d", n, tt.paid)
			}
			b.trail()
			b.stop()
		})
	}
}

// TestEscalatedAnswerIsForOneCall refuses every answer for later calls of somebody who may answer only since the
// escalation, with and without the terms of a grant. About the one call they decide.
func TestEscalatedAnswerIsForOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		dan := withDan(b)
		q := escalating(1, 30*time.Minute)
		q.Always = generous().Always
		b.policy.always(q)
		b.start()
		r := b.question(b.submit())
		time.Sleep(31 * time.Minute)
		b.refused(r, dan, approvals.AlwaysApprove, approvals.ErrInvalid)
		err := b.grant(r, dan, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
		if !errors.Is(err, approvals.ErrInvalid) || len(b.grants()) != 0 {
			t.Errorf("a grant: %v, %d made", err, len(b.grants()))
		}
		if got := b.must(r, dan, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("one call: %s", got.Status)
		}
		b.stop()
		b.store.Close()
	})
}
