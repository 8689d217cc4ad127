package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// given is a grant as the service describes it.
func given(n int, state approvals.GrantState) approvals.GrantView {
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	return approvals.GrantView{
		Grant: approvals.Grant{
			Workspace: testWorkspace, ID: approvals.GrantID(fmt.Sprintf("grant_%026d", n)),
			Scope: approvals.ScopeThread, Agent: "ops", Tool: "transfer_funds",
			Place:   approvals.Place{Surface: "slack", Channel: "C0GENERAL", Thread: "1.1"},
			Created: at, Expires: at.Add(time.Hour), Grantors: []approvals.UserID{user("U0BEN")},
		},
		State: state, Mine: true,
	}
}

// whole is all that a message says, as text.
func whole(t *testing.T, message any) string {
	t.Helper()
	raw, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCommandGrants(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	inert := given(1, approvals.GrantInert)
	inert.Why = "the tool was changed"
	inert.Condition = []approvals.ArgumentBound{{Pointer: "/to", Equal: json.RawMessage("\"<!channel>\u202e *x*\"")}}
	inert.Uses, inert.Used = 5, 2
	s.service.grants = []approvals.GrantView{inert, given(2, approvals.GrantExpired), given(3, approvals.GrantActive)}
	m := s.command("U0BEN", "grants")
	said := whole(t, m)
	for _, words := range []string{
		"inert", ", so calls are asked about", "the tool was changed", "2 of 5 used", "expired",
		"in one thread of ", "/approvals revoke grant_",
	} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not in %s", words, said)
		}
	}
	if strings.Contains(said, "\u202e") || strings.Contains(m.Text, "<!") {
		t.Errorf("text of the model came through: %s", said)
	}
	first := strings.Index(said, string(s.service.grants[2].ID))
	last := strings.Index(said, string(s.service.grants[1].ID))
	if first < 0 || last < first {
		t.Errorf("what is in force does not stand first: %s", said)
	}
	for i := range 60 {
		s.service.grants = append(s.service.grants, given(10+i, approvals.GrantExpired))
	}
	if said := whole(t, s.command("U0BEN", "grants")); !strings.Contains(said, "There are more") ||
		!strings.Contains(said, "Grants: 63") {
		t.Errorf("many are listed as %s", said)
	}
	s.service.unseeable = []approvals.UserID{user("U0CLEO")}
	if m := s.command("U0CLEO", "grants"); !strings.Contains(m.Text, "no grants that you may see") {
		t.Errorf("a stranger is told %q", m.Text)
	}
	s.service.fail = errors.New("the store is gone")
	if m := s.command("U0BEN", "grants"); !strings.Contains(m.Text, "cannot read the grants") {
		t.Errorf("a failure is told as %q", m.Text)
	}
}

func TestCommandRevoke(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	g := given(1, approvals.GrantActive)
	s.service.grants, s.service.unseeable = []approvals.GrantView{g}, []approvals.UserID{user("U0CLEO")}
	none := strings.ReplaceAll(s.command("U0CLEO", "revoke grant_"+strings.Repeat("9", 26)).Text,
		strings.Repeat("9", 26), strings.TrimPrefix(string(g.ID), "grant_"))
	if hidden := s.command("U0CLEO", "revoke "+string(g.ID)).Text; hidden != none {
		t.Errorf("what one may not revoke differs from what is not there: %q, %q", hidden, none)
	}
	s.service.fail = errors.New("the store is gone")
	if m := s.command("U0BEN", "revoke "+string(g.ID)); !strings.Contains(m.Text, "may still be in force") {
		t.Errorf("a failure is told as %q", m.Text)
	}
	s.service.fail = nil
	m := s.command("U0BEN", "revoke "+string(g.ID)+" too wide")
	if !strings.Contains(m.Text, "Revoked: "+string(g.ID)) {
		t.Errorf("a revocation is told as %q", m.Text)
	}
	want := approvals.Revocation{
		Workspace: testWorkspace, Grant: g.ID, By: user("U0BEN"), Reason: "too wide", Via: "command",
	}
	if len(s.service.revoked) != 1 || s.service.revoked[0] != want {
		t.Errorf("revoked: %+v", s.service.revoked)
	}
	if m := s.command("U0BEN", "revoke "+string(g.ID)); !strings.Contains(m.Text, "was revoked before") {
		t.Errorf("a second revocation is told as %q", m.Text)
	}
}

// TestGrantOnCard reads what a settled card says of answers that made a grant, and of those that made none.
func TestGrantOnCard(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":5}`)
	r.Status, r.Settled = approvals.RequestApproved, r.Created.Add(time.Minute)
	answer := func(by string, same ...string) approvals.Decision {
		return approvals.Decision{By: user(by), Verdict: approvals.AlwaysApprove, At: r.Settled,
			Grant: &approvals.GrantTerms{Scope: approvals.ScopeThread, Same: same}}
	}
	r.Decisions = []approvals.Decision{answer("U0BEN", "to"), answer("U0CLEO", "to")}
	if said := whole(t, newCard(r).blocks); !strings.Contains(said, "giving a grant for later calls") ||
		strings.Contains(said, "until this run ends") || strings.Contains(said, "For this call alone") {
		t.Errorf("the card says %s", said)
	}
	r.Decisions[1] = answer("U0CLEO", "amount")
	if said := whole(t, newCard(r).blocks); !strings.Contains(said, "on different conditions.") ||
		strings.Contains(said, "a grant") {
		t.Errorf("without a grant the card says %s", said)
	}
	if r.Kind != agent.Confirm {
		t.Fatal("control: another kind of question")
	}
}
