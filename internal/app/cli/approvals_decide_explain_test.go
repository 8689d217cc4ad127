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

// TestExplainTooLate says once how a request stands, since when and by whom.
func TestExplainTooLate(t *testing.T) {
	t.Parallel()
	r := newRequest("req_1", answered("U2", approvals.Reject),
		stands(approvals.RequestRejected, approvals.OutcomeNotRun))
	cancelled := newRequest("req_1", stands(approvals.RequestCancelled, approvals.OutcomeNotRun))
	for _, tt := range []struct {
		r          *approvals.Request
		text, want string
	}{
		{r, "it is rejected", "already decided: it is rejected, since 2026-11-02T15:01:00Z by U2"},
		{r, "U3 has answered already", "already decided: U3 has answered already: it is rejected, " +
			"since 2026-11-02T15:01:00Z by U2"},
		{cancelled, "it is cancelled", "already decided: it is cancelled"},
		{cancelled, "U3 has answered already", "already decided: U3 has answered already: it is cancelled"},
	} {
		err := explainDecision(tt.r, fmt.Errorf("%w: %s", approvals.ErrConflict, tt.text), &tt.r.RequestHead,
			approvals.Approve)
		if err.Error() != tt.want {
			t.Errorf("%q, want %q", err, tt.want)
		}
	}
}
