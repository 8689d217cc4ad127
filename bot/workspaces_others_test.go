package bot

import (
	"net/http"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestAnotherProcessFinishesAnInstallation: who set out from one process comes back to the other; both then serve the
// workspace, whichever Slack and the work find, and the state is good for one installation wherever it comes back.
func TestAnotherProcessFinishesAnInstallation(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	b := k.browser()
	back := k.allowed(b, one)
	status, page, _ := k.get(b, back)
	if status != http.StatusOK || !strings.Contains(page, "The app is installed in The "+one+" company") {
		t.Fatalf("HTTP %d: %s\n%s", status, page, k.logs)
	}
	for range 4 { // either process is told of some of it
		thread := k.mention(one)
		card := k.card(one, thread)
		if err := k.click(one, "U0BEN", card, "approve"); err != nil {
			t.Fatal(err)
		}
		k.said(one, thread, "Acme has its money.")
	}
	if got := len(k.bank.payments()); got != 4 {
		t.Errorf("%d payments", got)
	}
	for name, of := range map[string]*town{"the one": k, "the other": k.other} {
		if of.bots.known(t.Context(), one) == nil {
			t.Errorf("%s process does not serve the workspace", name)
		}
	}
}

// TestStateIsGoodOnceInAllProcesses: the store knows what another process has used up.
func TestStateIsGoodOnceInAllProcesses(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	in := approvals.Installation{Team: one, Token: "xoxb-1", BotUser: "U0BOT", Proof: "aa"}
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := k.other.bots.adopt(t.Context(), in); err == nil {
		t.Error("the same state has installed the app twice")
	}
	in.Proof = "bb"
	if err := k.other.bots.adopt(t.Context(), in); err != nil {
		t.Errorf("control: another state: %v", err)
	}
}

// TestRevokedTokenOfAnotherProcess: the app was installed again at the one process, and the other one finds that its
// old token is of no use any more: it takes the new one, and does not end the installation.
func TestRevokedTokenOfAnotherProcess(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	in := approvals.Installation{Team: one, Token: "xoxb-1", BotUser: "U0BOT"}
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	old := k.other.bots.known(t.Context(), one)
	if old == nil {
		t.Fatal("the other process does not know of the installation")
	}
	in.Token = "xoxb-2"
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := k.other.bots.ended(t.Context(), one, old, "token_revoked"); err == nil {
		t.Error("the other process takes the old token's end for the installation's")
	}
	now, err := approvals.NewInstallations(k.store, nil).Of(t.Context(), one)
	if err != nil || !now.Live() || k.other.bots.resident(one) == nil || !k.other.bots.resident(one).has(now) {
		t.Errorf("the installation: %+v, %v", now, err)
	}
	if err := k.other.bots.ended(t.Context(), one, k.other.bots.resident(one), "token_revoked"); err != nil {
		t.Errorf("control: the end of the newest token: %v", err)
	}
	if now, err := approvals.NewInstallations(k.store, nil).Of(t.Context(), one); err != nil || now.Live() {
		t.Errorf("control: %+v, %v", now, err)
	}
}
