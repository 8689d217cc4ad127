package cli

import (
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestExplainDecision names the answers that a request takes to whoever gave another one, and says nothing twice.
func TestExplainDecision(t *testing.T) {
	t.Parallel()
	r := newRequest("req_1")
	r.Status, r.SupersededBy = approvals.RequestSuperseded, "req_2"
	for _, tt := range []struct {
		err     error
		verdict approvals.Verdict
		want    string
	}{
		{
			fmt.Errorf("%w: these are the arguments that the call has", approvals.ErrInvalid), approvals.Edit,
			"invalid: these are the arguments that the call has",
		},
		{
			fmt.Errorf("%w: no", approvals.ErrInvalid), approvals.Retry,
			"invalid: no; this request asks whether the call may run: answer with --approve, --reject or --edit",
		},
		{
			fmt.Errorf("%w: The arguments were changed; req_2 asks about the changed call.", approvals.ErrStale),
			approvals.Approve, "stale: The arguments were changed; req_2 asks about the changed call.",
		},
		{fmt.Errorf("%w: gone", approvals.ErrStale), approvals.Approve, "stale: gone; decide about req_2"},
	} {
		asked := &approvals.RequestHead{Kind: agent.Confirm}
		if got := explainDecision(r, tt.err, asked, tt.verdict).Error(); got != tt.want {
			t.Errorf("%s: have %q, want %q", tt.verdict, got, tt.want)
		}
	}
}
