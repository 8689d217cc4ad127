package bot

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestWhatAnApprovedCallWaitsFor: of an approved call that has not begun, the card, its details and the lists say what
// it waits for. It is not its turn where people are asked once more, or another system carries it out.
func TestWhatAnApprovedCallWaitsFor(t *testing.T) {
	t.Parallel()
	deployment := deploy()
	deployment.Kind = agent.Confirm
	next := booking()
	next.SupersededBy = "req_2"
	for name, test := range map[string]struct {
		r    *approvals.Request
		want string
	}{
		"a call":                                {transfer(`{"amount":1200}`), "waits for its turn"},
		"of which people gave the values":       {booking(), "waits for its turn"},
		"and which people are asked about then": {next, "is asked about next"},
		"that is carried out elsewhere":         {deployment, "waits for its result"},
	} {
		test.r.Status = approvals.RequestApproved
		t.Run(name, func(t *testing.T) {
			if got := became(test.r).fallback(); got != " · "+test.want {
				t.Errorf("the card says %q, want %q", got, test.want)
			}
			if got := whatBecame(test.r).fallback(); !strings.Contains(got, test.want) {
				t.Errorf("the details say %q, want %q", got, test.want)
			}
			if got := callWord(test.r); got != test.want {
				t.Errorf("the lists say %q, want %q", got, test.want)
			}
		})
	}
}
