package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// TestMoreIsSaidOfNumbersAlone: "more" follows the number of people who are still needed, and nothing that is no
// number.
func TestMoreIsSaidOfNumbersAlone(t *testing.T) {
	t.Parallel()
	members := approvals.Seat{Approvers: approvals.Approvers{ChannelMembers: true}}
	ann := approvals.NewUserID("T1", "U0ANN")
	withdrawn := approvals.Decision{By: ann, Verdict: approvals.Approve, At: time.Unix(1, 0), Void: "withdrawn"}
	for name, tt := range map[string]struct {
		direct bool
		seats  []approvals.Seat
		want   string
	}{
		"members of a channel": {false, []approvals.Seat{members}, "Needs 1 more of the members of a channel"},
		"in a direct message":  {true, []approvals.Seat{members}, "Still needs the answer of <@U0ANN>"},
		"nobody is left to do it": {false, []approvals.Seat{{}}, "Still needs an answer that nobody may give: it " +
			"cannot be approved now"},
		"nobody is left for one of two": {false, []approvals.Seat{{}, members}, "Still needs an answer that nobody " +
			"may give: it cannot be approved now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := approvals.Requirement{Seats: tt.seats, SelfApproval: true, DenyQuorum: 1}
			r := &approvals.Request{RequestHead: approvals.RequestHead{
				Status: approvals.RequestPending, Requester: ann, Requirement: q,
				Place:     approvals.Place{Direct: tt.direct},
				Decisions: []approvals.Decision{withdrawn},
			}}
			r.Progress = &approvals.Progress{Current: q, Missing: tt.seats}
			if got := stillNeeded(r).fallback(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := awaits(r).fallback(); strings.Contains(tt.want, "nobody") != strings.Contains(got, "nobody may") {
				t.Errorf("a list says %q", got)
			}
		})
	}
}
