package bot

import (
	"testing"
	"time"

	"countersign/approvals"
)

// TestApprovedByCountsPlaces: two people of one group take one of the two places, and the card does not say otherwise.
func TestApprovedByCountsPlaces(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 14, 50, 0, 0, time.UTC)
	vote := func(by string) approvals.Decision {
		return approvals.Decision{By: approvals.UserID("T1/" + by), Verdict: approvals.Approve, At: at}
	}
	r := transfer(small)
	r.Requirement.Seats = append(
		approvals.Quorum(1, approvals.Approvers{Groups: []string{"S1"}}),
		approvals.Quorum(1, approvals.Approvers{Groups: []string{"S2"}})...)
	r.Progress = &approvals.Progress{Missing: r.Requirement.Seats[1:]}
	for want, votes := range map[string][]approvals.Decision{
		"": nil,
		" (1 of 2: <@U0BEN> approved 2026-11-23 14:50 UTC)": {vote("U0BEN")},
		" (<@U0BEN> approved 2026-11-23 14:50 UTC, <@U0DAN> approved 2026-11-23 14:50 UTC: 1 of 2)": {
			vote("U0BEN"), vote("U0DAN"),
		},
	} {
		r.Decisions = votes
		if got := approvedBy(r).fallback(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
