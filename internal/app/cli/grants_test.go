package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/control"
)

// newGrants is a desk on a store with an active grant and one that has expired.
func newGrants(t *testing.T) *control.Local {
	t.Helper()
	desk := newDesk(t)
	err := desk.Store.Update(t.Context(), func(tx approvals.Tx) error {
		g := &approvals.Grant{
			Workspace: "T1", ID: "grant_1", Scope: approvals.ScopeThread, Run: "run_1", Agent: "ops", Tool: "pay",
			Place:     approvals.Place{Surface: "slack", Channel: "C1", Thread: "1.5"},
			Condition: []approvals.ArgumentBound{{Pointer: "/to", Equal: json.RawMessage("\"a\u202e\"")}},
			Created:   tx.Now(), Expires: tx.Now().Add(3 * time.Hour), Uses: 5, Used: 2,
			Grantors: []approvals.UserID{"T1/U7", "T1/U8"},
		}
		err := tx.PutGrant(g)
		g.ID, g.Expires, g.Deny = "grant_0", tx.Now().Add(-time.Hour), true
		return errors.Join(err, tx.PutGrant(g))
	})
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

func TestGrantsListSays(t *testing.T) {
	t.Parallel()
	desk := newGrants(t)
	p, out, _ := capture()
	if err := (&grantsListCommand{}).list(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "grant_1") {
		t.Fatalf("listed:\n%s", out)
	}
	for _, part := range []string{
		"active", "approve", "pay by ops", "thread 1.5 in C1", `to = "a\u{202E}"`, "2 of 5", "in 2 h 59 min", "U7, U8",
	} {
		if !strings.Contains(lines[1], part) {
			t.Errorf("%q is not in %q", part, lines[1])
		}
	}
	p, out, _ = capture()
	if err := (&grantsListCommand{All: true, JSON: true}).list(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	var states []string
	for line := range strings.Lines(out.String()) {
		var g struct{ ID, State, Scope string }
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		states = append(states, g.ID+" "+g.State+" "+g.Scope)
	}
	if got := strings.Join(states, ", "); got != "grant_0 expired thread, grant_1 active thread" {
		t.Errorf("all as JSON: %s", got)
	}
}

func TestGrantsRevoke(t *testing.T) {
	t.Parallel()
	desk := newGrants(t)
	p, out, _ := capture()
	if err := (&grantsRevokeCommand{ID: "grant_1", Reason: "wrong payee"}).revoke(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "grant_1 is revoked") || strings.Contains(out.String(), "\u202e") {
		t.Errorf("said %q", out)
	}
	err := (&grantsRevokeCommand{ID: "grant_1"}).revoke(t.Context(), &p, desk)
	if !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("revoked twice: %v", err)
	}
	err = (&grantsRevokeCommand{ID: "grant_9"}).revoke(t.Context(), &p, desk)
	if !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("revoked what is not there: %v", err)
	}
	p, out, _ = capture()
	err = (&grantsListCommand{}).list(t.Context(), &p, desk)
	if err != nil || !strings.Contains(out.String(), "No grant") {
		t.Errorf("%v, listed %q", err, out)
	}
}

// TestDecideTerms reads the terms of a standing answer.
func TestDecideTerms(t *testing.T) {
	t.Parallel()
	c := decideCommand{Scope: "thread", Same: []string{"to"}, AtMost: []string{"amount"}, TTL: 2 * time.Hour, Uses: 5}
	terms, err := c.terms(approvals.AlwaysApprove)
	if err != nil || terms.Scope != approvals.ScopeThread || terms.TTL != 2*time.Hour || terms.Uses != 5 ||
		len(terms.Same) != 1 || len(terms.AtMost) != 1 {
		t.Errorf("%+v, %v", terms, err)
	}
	if _, err := c.terms(approvals.Approve); err == nil {
		t.Error("an answer for one call takes terms")
	}
	if terms, err := (&decideCommand{}).terms(approvals.AlwaysApprove); terms != nil || err != nil {
		t.Errorf("without flags: %+v, %v", terms, err)
	}
	terms, err = (&decideCommand{Uses: 3}).terms(approvals.AlwaysApprove)
	if err != nil || terms.Scope != approvals.ScopeRun {
		t.Errorf("without a scope: %+v, %v", terms, err)
	}
	for _, bad := range []struct {
		set   func(string) error
		value string
	}{
		{c.setTTL, "0"}, {c.setTTL, "-1h"}, {c.setTTL, "0d"}, {c.setTTL, ""}, {c.setUses, "0"}, {c.setUses, "-1"},
		{c.setUses, "some"}, {argumentNames(&c.Same), ""}, {argumentNames(&c.Same), "to,"},
	} {
		if err := bad.set(bad.value); err == nil {
			t.Errorf("%q is taken", bad.value)
		}
	}
	if err := errors.Join(c.setTTL("2d"), argumentNames(&c.Same)("a,b")); err != nil || c.TTL != 48*time.Hour ||
		len(c.Same) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}
