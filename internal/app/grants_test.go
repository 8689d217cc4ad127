package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// granting is a policy that allows grants of a channel.
const granting = "default_policy: { approvers: { channel_members: true }, always: { scopes: [run, channel], " +
	"max_ttl: 2h } }\n"

// ephemeral has somebody give a slash command and returns what they alone read.
func (w *world) ephemeral(user, text string) string {
	w.t.Helper()
	before := len(w.slack.Ephemerals(user))
	if err := w.slack.Command(w.ctx, user, general, "/approvals", text); err != nil {
		w.t.Fatal(err)
	}
	w.until("an answer to "+text, func() bool { return len(w.slack.Ephemerals(user)) > before })
	all := w.slack.Ephemerals(user)
	return all[len(all)-1].Shown()
}

// TestGrants gives a grant by command, has a call run under it, and revokes it: in Slack, and by command with and
// without a running bot.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: granting, slack: slackdev.Config{}})
	bot := w.start()
	give := func(amount string) string {
		t.Helper()
		w.card(w.mention("pay "+amount), 1)
		out := w.must("approvals", "decide", w.pending(), "--always-approve", "--scope", "channel", "--same", "to",
			"--at-most", "amount", "--ttl", "1h", "--uses", "3", "--as", ben)
		at := strings.Index(out, "grant_")
		if at < 0 || !strings.Contains(out, "scope channel") {
			t.Fatalf("decide says %q", out)
		}
		return out[at : at+len("grant_")+26]
	}
	first := give("5")
	thread := w.mention("pay 4")
	w.answer(thread, "Nobody was asked about 1 call of pay under grant "+first)
	if n := len(w.cards(thread)); n != 0 {
		t.Errorf("%d cards for a call under a grant", n)
	}
	asked := w.mention("pay 6")
	w.settleByReject(w.card(asked, 1))
	if out := w.must("grants", "list"); !strings.Contains(out, first) || !strings.Contains(out, "1 of 3") {
		t.Errorf("grants list:\n%s", out)
	}
	if seen := w.ephemeral(ben, "grants"); !strings.Contains(seen, first) || !strings.Contains(seen, "active") {
		t.Errorf("/approvals grants: %s", seen)
	}
	if seen := w.ephemeral(gus, "grants"); strings.Contains(seen, first) {
		t.Errorf("a guest sees %s", seen)
	}
	if seen := w.ephemeral(gus, "revoke "+first); !strings.Contains(seen, "no grant") {
		t.Errorf("a guest revokes: %s", seen)
	}
	if seen := w.ephemeral(cleo, "revoke "+first+" too wide"); !strings.Contains(seen, "Revoked") {
		t.Errorf("/approvals revoke: %s", seen)
	}
	w.settleByReject(w.card(w.mention("pay 3"), 1))
	second, third := give("7"), give("8")
	w.must("grants", "revoke", second, "--reason", "not needed")
	bot.stop()
	w.must("grants", "revoke", third)
	_, complaint, code := w.run("grants", "revoke", third)
	if code != 1 || !strings.Contains(complaint, "revoked before") {
		t.Errorf("revoked again: %d %s", code, complaint)
	}
	states := map[string]string{}
	for line := range strings.Lines(w.must("grants", "list", "--all", "--json")) {
		var g struct{ ID, State string }
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		states[g.ID] = g.State
	}
	for _, id := range []string{first, second, third} {
		if states[id] != "revoked" {
			t.Errorf("%s is %q", id, states[id])
		}
	}
	if out := w.must("grants", "list"); !strings.Contains(out, "No grant is in force") {
		t.Errorf("grants list:\n%s", out)
	}
	w.verified()
}

// settleByReject has ben reject the card's request.
func (w *world) settleByReject(card slackdev.Message) {
	w.t.Helper()
	w.mustClick(ben, card, "reject")
	w.settled(card, "Rejected")
}
