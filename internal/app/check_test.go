package app_test

import (
	"strings"
	"testing"
)

// TestCheckNamesWhoStandsIn: who may decide for somebody else, and who past the policies, is what check is read for.
func TestCheckNamesWhoStandsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: anybody + `delegates: { U0BEN: { to: U0CLEO, until: 2199-12-31 } }
break_glass: { users: [U0ANN], groups: [S0ONCALL1], notify: C0SECURITY }
`})
	out := w.must("check", "--offline")
	for _, want := range []string{
		"stand in    U0CLEO for U0BEN until the end of 2199-12-31",
		"emergency   U0ANN, S0ONCALL1 may let a call run past its policy; C0SECURITY is told",
	} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
	asJSON := w.must("check", "--offline", "--json")
	for _, want := range []string{`"delegates"`, `"from":"U0BEN"`, `"break_glass"`, `"notify":"C0SECURITY"`} {
		if !strings.Contains(asJSON, want) {
			t.Errorf("want %s in:\n%s", want, asJSON)
		}
	}
	plain := newWorld(t, settings{})
	out = plain.must("check", "--offline")
	if strings.Contains(out, "stand in") || strings.Contains(out, "emergency") {
		t.Errorf("nobody stands in, and there is no emergency:\n%s", out)
	}
}

// TestRefusedScopeIsSaidInWords rather than as the program's own list.
func TestRefusedScopeIsSaidInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: "default_policy: { approvers: { channel_members: true }, " +
		"always: { scopes: [run, thread] } }\n"})
	w.start()
	w.card(w.mention("pay 5"), 1)
	_, complaint, code := w.run("approvals", "decide", w.pending(), "--always-approve", "--scope", "workspace",
		"--as", ben)
	if code != 1 || !strings.Contains(complaint, "those it allows: run, thread") {
		t.Errorf("%d %s", code, complaint)
	}
}
