package approvals_test

import (
	"errors"
	"slices"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestPeopleAreCalledInAnOutage: who is to approve a call is called to it also where Slack does not say who they are
// when it is asked. They are asked no second time.
func TestPeopleAreCalledInAnOutage(t *testing.T) {
	t.Parallel()
	outage := errors.New("no answer")
	for _, tt := range []struct {
		name string
		fail func(b *bench)
		set  approvals.Approvers
		want approvals.Called
	}{
		{
			"control: people", func(*bench) {}, approvals.Approvers{Users: []approvals.UserID{ann, bob, guest, out}},
			approvals.Called{Copies: []approvals.Copy{approvals.CopyFor(out)}, Users: []approvals.UserID{bob}},
		},
		{
			"people", func(b *bench) { b.people.fail(outage) },
			approvals.Approvers{Users: []approvals.UserID{ann, bob, out}},
			approvals.Called{Copies: []approvals.Copy{approvals.CopyFor(bob), approvals.CopyFor(out)}},
		},
		{
			"people who are away", func(b *bench) { b.people.fail(outage); b.policy.delegates(onLeave(out, bob)...) },
			approvals.Approvers{Users: []approvals.UserID{bob}},
			approvals.Called{Copies: []approvals.Copy{approvals.CopyFor(bob), approvals.CopyFor(out)}},
		},
		{
			"members of a group", func(b *bench) { b.people.failGroups(outage) },
			approvals.Approvers{Groups: []string{"S1"}}, approvals.Called{Groups: []string{"S1"}},
		},
		{
			"a group", func(b *bench) { b.people.fail(outage) }, approvals.Approvers{Groups: []string{"S1"}},
			approvals.Called{Groups: []string{"S1"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.setGroup("S1", bob, out)
			b.policy.always(with(func(q *approvals.Requirement) {
				askOf(q, tt.set)
				q.SelfApproval = false
			}))
			b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
				tt.fail(b)
				return asks(call("c1", "pay", `{}`))(req)
			}))
			b.start()
			got := b.question(b.submit()).Called
			if !slices.Equal(got.Copies, tt.want.Copies) || !slices.Equal(got.Users, tt.want.Users) ||
				!slices.Equal(got.Groups, tt.want.Groups) {
				t.Errorf("called are %+v, want %+v", got, tt.want)
			}
		})
	}
}
