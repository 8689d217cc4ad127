package approvals_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// gatedDeploy starts a run whose external call bob lets through, and returns that request and the one that asks for the
// result.
func gatedDeploy(t *testing.T) (b *bench, allowed, elsewhere *approvals.Request) {
	tool := external()
	tool.NeedsApproval = agent.AlwaysAsk
	b = newBench(t)
	b.agent(model(deploys), tool)
	b.start()
	id := b.submit()
	allowed = b.question(id)
	b.must(allowed, bob, approvals.Approve, "")
	b.until("the second question", func() bool { return len(b.requests(id)) == 2 })
	return b, allowed, b.question(id)
}

// TestApprovalFollowsElsewhere: what people report of an approved external call holds for the approval too, also when
// the run ends before they have.
func TestApprovalFollowsElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  func(b *bench, r *approvals.Request)
		outcome approvals.Outcome
		by      approvals.UserID
		note    string
	}{
		"reported": {func(b *bench, r *approvals.Request) {
			b.must(r, cara, approvals.ProvideResult, "done")
			b.reaches(r.Run, approvals.RunDone)
		}, approvals.OutcomeRan, cara, ""},
		"declined": {func(b *bench, r *approvals.Request) {
			b.must(r, cara, approvals.Reject, "not today")
			b.reaches(r.Run, approvals.RunDone)
		}, approvals.OutcomeNotRun, "", "Somebody said that it will not be carried out."},
		"cancelled": {func(b *bench, r *approvals.Request) {
			if _, err := b.service.CancelRun(b.Context(), ws, r.Run, ann, ""); err != nil {
				t.Fatal(err)
			}
			b.reaches(r.Run, approvals.RunCancelled)
		}, approvals.OutcomeUnknown, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, allowed, elsewhere := gatedDeploy(t)
			c.answer(b, elsewhere)
			got := b.request(allowed.ID)
			if got.Outcome != c.outcome || got.OutcomeBy != c.by || got.Note != c.note {
				t.Errorf("the approval says %q, by %q, %q", got.Outcome, got.OutcomeBy, got.Note)
			}
			if f := b.run(allowed.Run).Failure; strings.Contains(f, "Not carried out") {
				t.Errorf("people were told: %s", f)
			}
			b.until("everything to be shown", b.delivered)
			b.invariants(name)
		})
	}
}
