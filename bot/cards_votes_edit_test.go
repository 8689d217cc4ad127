package bot

import (
	"testing"

	"countersign/approvals"
)

// TestEditIsNoVote: whoever changes a call has neither approved nor rejected it.
func TestEditIsNoVote(t *testing.T) {
	t.Parallel()
	r := &approvals.Request{RequestHead: approvals.RequestHead{Status: approvals.RequestSuperseded}}
	r.Decisions = []approvals.Decision{{By: "T1/U0ANN", Verdict: approvals.Approve}}
	if got := len(otherVotes(r)); got != 1 {
		t.Fatalf("%d lines about one vote", got)
	}
	r.Decisions = append(r.Decisions, approvals.Decision{By: "T1/U0BEN", Verdict: approvals.Edit})
	if lines := otherVotes(r); len(lines) != 1 {
		t.Errorf("lines %v", lines)
	}
}
