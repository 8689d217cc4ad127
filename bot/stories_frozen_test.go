package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestFrozenSendsNobodyToOthersWhoCannot: during a freeze nobody but those whom it excepts can approve. Whoever is
// refused because of it reads that, with the names of those who can, and not that other members of the channel can.
func TestFrozenSendsNobodyToOthersWhoCannot(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := newOffice(t, namedPolicy{
		who: approvals.Approvers{ChannelMembers: true},
		tune: func(q *approvals.Requirement) {
			q.Freeze = []approvals.Freeze{{
				From: now.Add(-time.Hour), To: now.Add(time.Hour),
				Except: approvals.Approvers{Users: usersOf("U0CLEO")},
			}}
		},
	}, pay("call_1"), scripted.Say("Done."))
	card := w.card(w.mention("U0ANN", "pay acme", ""), 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.hears("U0BEN", "You cannot approve this now. Frozen from ", ": only ", "U0CLEO",
		" can approve; rejecting is possible.")
	for _, m := range w.slack.Ephemerals("U0BEN") {
		if strings.Contains(m.Text, "Other members") {
			t.Errorf("Ben is sent to people who cannot approve either: %s", m.Text)
		}
	}
}
