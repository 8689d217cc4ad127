package approvals_test

import (
	"errors"
	"fmt"
	"testing"

	"countersign/approvals"
)

// TestRefusalIsFoundBehindWhatWasTried: whoever is refused learns by which rule, whatever stands around it, and the
// sentence of the error is that of the refusal.
func TestRefusalIsFoundBehindWhatWasTried(t *testing.T) {
	t.Parallel()
	b, r := asked(t, with(func(q *approvals.Requirement) { q.SelfApproval = false }))
	for name, c := range map[string]struct {
		by    approvals.UserID
		grant *approvals.GrantTerms
		want  approvals.Refusal
	}{
		"the requester": {ann, nil, approvals.Refusal{
			Fact: approvals.ErrUnauthorized, Rule: approvals.RuleRequester,
			Why: "the requester does not decide about their own request"}},
		"a guest": {guest, nil, approvals.Refusal{
			Fact: approvals.ErrUnauthorized, Rule: approvals.RuleMember, About: "guest", Why: "guest"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.service.Decide(t.Context(), approvals.Decision{
				Workspace: r.Workspace, Request: r.ID, By: c.by, Verdict: approvals.Approve, Digest: r.Digest,
			})
			refused, ok := errors.AsType[*approvals.Refusal](err)
			if !ok || *refused != c.want || !errors.Is(err, c.want.Fact) {
				t.Fatalf("%v: %+v, want %+v", err, refused, c.want)
			}
			want := fmt.Sprintf("decide request %s: %s: %s", r.ID, c.want.Fact, c.want.Why)
			if err.Error() != want {
				t.Errorf("%q, want %q", err, want)
			}
		})
	}
}
