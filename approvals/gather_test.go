package approvals_test

import (
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestQuorumsOfOneTurn asks about two calls of one turn, which the same people approve: one takes one of them, the other
// three. Both are asked about, whichever comes first.
func TestQuorumsOfOneTurn(t *testing.T) {
	t.Parallel()
	for _, order := range [][]agent.Item{
		{call("c1", "look", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)},
		{call("c2", "pay", `{"amount":2}`), call("c1", "look", `{"amount":1}`)},
	} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
				q := lenient()
				if r.Tool.Name == "pay" {
					quorum(&q, 3)
				}
				return q, nil
			})
			b.model(asks(order...))
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if n := len(b.pending(id)); n != 2 {
				step(deliverJob(place))
				t.Errorf("%d of 2 calls are asked about; notices %q", n, b.surface.texts(approvals.NotifyNotice))
			}
			b.stop()
		})
	}
}

// TestStandingRejectionLeavesEnough gives a standing rejection that settles its own request and is one of the two that
// another one takes: that one waits on, because enough people are left for its three approvals.
func TestStandingRejectionLeavesEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, u := range []approvals.UserID{user("dan"), user("eve")} {
		b.people.persons[u] = approvals.Person{ID: u, Regular: true}
		b.people.channels["C1"] = append(b.people.channels["C1"], u)
	}
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		if string(r.Arguments) == `{"amount":2}` {
			quorum(&q, 3)
			q.DenyQuorum = 2
		}
		return q, nil
	})
	b.model(asks(call("c2", "pay", `{"amount":2}`), call("c1", "pay", `{"amount":1}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	all := b.pending(id)
	b.must(all[1], bob, approvals.AlwaysReject, "no")
	if got := b.request(all[0].ID); got.Status != approvals.RequestPending {
		t.Errorf("one of two needed rejections, four people left: %s, %q", got.Status, got.Note)
	}
	b.stop()
}

// TestStandingAnswerOfTwoMeetsAnotherSet has a standing answer of two people meet a request whose approvers are named
// otherwise: the rights of both are looked up under its requirement too.
func TestStandingAnswerOfTwoMeetsAnotherSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		quorum(&q, 2)
		if string(r.Arguments) == `{"amount":1}` {
			askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob, cara}})
		}
		return q, nil
	})
	b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	all := b.pending(id)
	b.must(all[0], bob, approvals.AlwaysApprove, "")
	b.must(all[0], cara, approvals.AlwaysApprove, "")
	if got := b.request(all[1].ID); got.Status != approvals.RequestApproved {
		t.Errorf("both may approve all calls of the tool, and have: %s", got.Status)
	}
	b.stop()
}
