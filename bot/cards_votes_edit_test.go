package bot

import (
	"strings"
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

// TestWhyAnAlwaysDoesNotCount reads the line about an answer for later calls that holds for none, for each reason, and
// what takes its place where it does.
func TestWhyAnAlwaysDoesNotCount(t *testing.T) {
	t.Parallel()
	grant := &approvals.GrantTerms{Scope: approvals.ScopeThread}
	always := func(v approvals.Verdict, g *approvals.GrantTerms, of string) approvals.Decision {
		d := approvals.Decision{By: "T1/U0BEN", Verdict: v, Grant: g}
		if of != "" {
			d.For = approvals.UserID(of)
		}
		return d
	}
	for name, tt := range map[string]struct {
		status approvals.RequestStatus
		note   string
		given  approvals.Decision
		line   string
		word   string
	}{
		"for somebody else": {approvals.RequestApproved, "", always(approvals.AlwaysApprove, grant, "T1/U0EVE"),
			"nobody gives a grant for somebody else", ""},
		"too few": {approvals.RequestRejected, "Too few people are left.", always(approvals.AlwaysReject, nil, ""),
			"too few did for that", ""},
		"a grant": {approvals.RequestApproved, "", always(approvals.AlwaysApprove, grant, ""), "", wordsGrantFor},
		"a grant that rejects": {approvals.RequestRejected, "", always(approvals.AlwaysReject, grant, ""), "",
			wordsGrantAgainst},
		"the run": {approvals.RequestRejected, "", always(approvals.AlwaysReject, nil, ""), "", wordsAlwaysInRun},
	} {
		r := transfer(small)
		r.Status, r.Note, r.Decisions = tt.status, tt.note, []approvals.Decision{tt.given}
		line := droppedAlways(r).fallback()
		if (line == "") != (tt.line == "") || !strings.Contains(line, tt.line) {
			t.Errorf("%s: %q", name, line)
		}
		if got := afterword(r, tt.given.Verdict); got != tt.word {
			t.Errorf("%s: %q", name, got)
		}
	}
}
