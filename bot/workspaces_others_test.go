package bot

import (
	"net/http"
	"strings"
	"testing"
	"time"

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

// TestOlderRecordsOfAnotherProcessCountForNothing: what was read before this process installed the app itself neither
// ends its bot nor takes its token away, and an older bot stops once a newer one has its place.
func TestOlderRecordsOfAnotherProcessCountForNothing(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	in := approvals.Installation{Team: one, Token: "xoxb-1", BotUser: "U0BOT"}
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	record := func() *approvals.Installation {
		i, err := approvals.NewInstallations(k.store, nil).Of(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	first := record()
	in.Token = "xoxb-2"
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	now := record()
	keeps := func(what string, i approvals.Installation) {
		t.Helper()
		if err := k.bots.agreeOn(one, &i); err != nil {
			t.Fatal(err)
		}
		if r := k.bots.resident(one); !r.has(now) {
			t.Errorf("%s: the bot has another token, or is gone: %v", what, r)
		}
	}
	before := k.bots.resident(one).since
	older, ended := *first, *now
	older.Installed = before.Add(-time.Second)
	keeps("an older installation", older)
	ended.Token, ended.Ended = "", before.Add(-time.Second)
	keeps("an older end", ended)
	ended.Ended = before.Add(time.Second)
	if err := k.bots.agreeOn(one, &ended); err != nil || k.bots.resident(one) != nil || !k.bots.absent(one) {
		t.Errorf("control: a newer end: %v, %v", k.bots.resident(one), err)
	}
	again := *now
	again.Installed = before.Add(2 * time.Second)
	if err := k.bots.agreeOn(one, &again); err != nil || !k.bots.resident(one).has(now) || k.bots.absent(one) {
		t.Errorf("installed again: %v, %v", k.bots.resident(one), err)
	}
}

// TestAloneReadsNothing: a process that has the store for itself does not look for what others record.
func TestAloneReadsNothing(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	in := approvals.Installation{Team: one, Token: "xoxb-1", BotUser: "U0BOT"}
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	k.other.bots.cfg.Alone = true
	if r := k.other.bots.known(t.Context(), one); r != nil {
		t.Errorf("it knows %v", r)
	}
	k.other.bots.cfg.Alone = false
	if k.other.bots.known(t.Context(), one) == nil {
		t.Error("control: it does not know of the installation")
	}
}

// absent reports whether the bot knows that the app is not installed in the workspace any more.
func (w *Workspaces) absent(ws approvals.WorkspaceID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, gone := w.gone[ws]
	return gone
}
