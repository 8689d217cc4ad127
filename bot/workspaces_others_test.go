package bot

import (
	"errors"
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

// TestReplacedBotsEnd: the bot of an installation that is replaced, or ended, ends too, at the process that has done it
// and at the one that reads of it.
func TestReplacedBotsEnd(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	in := approvals.Installation{Team: one, Token: "xoxb-1", BotUser: "U0BOT"}
	if err := k.bots.adopt(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	processes := map[string]*town{"the one": k, "the other": k.other}
	running := map[string]*resident{}
	for name, of := range processes {
		running[name] = of.bots.known(t.Context(), one)
		if running[name] == nil || !running[name].open() {
			t.Fatalf("control: the bot of %s process does not run", name)
		}
	}
	replaced := func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		i, err := approvals.NewInstallations(k.store, nil).Of(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range processes {
			if err := of.bots.agreeOn(one, i); err != nil {
				t.Fatal(err)
			}
			before := running[name]
			k.eventually(what+": the bot before has ended at "+name, func() bool { return !before.open() })
			if running[name] = of.bots.resident(one); i.Live() != (running[name] != nil && running[name].open()) {
				t.Errorf("%s: at %s the bot is %v", what, name, running[name])
			}
		}
	}
	in.Token = "xoxb-2"
	replaced("installed again", func() error { return k.bots.adopt(t.Context(), in) })
	replaced("removed", func() error {
		return k.bots.ended(t.Context(), one, running["the one"], "account_inactive")
	})
}

// TestRunsStopAtTheProcessThatRemains: the process that has recorded that the app was removed dies before it has
// stopped the workspace's runs. The one that reads of the removal stops them.
func TestRunsStopAtTheProcessThatRemains(t *testing.T) {
	t.Parallel()
	k := newTwinTown(t)
	k.install(one)
	k.card(one, k.mention(one))
	if k.other.bots.known(t.Context(), one) == nil {
		t.Fatal("control: the other process does not know of the installation")
	}
	records := approvals.NewInstallations(k.store, nil)
	i, err := records.Of(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if err := records.End(t.Context(), one, i.Token, "app_uninstalled"); err != nil {
		t.Fatal(err)
	}
	if len(k.pending(one)) != 1 {
		t.Fatal("control: nothing waits")
	}
	if i, err = records.Of(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if err := k.other.bots.agreeOn(one, i); err != nil {
		t.Fatal(err)
	}
	k.eventually("nothing waits in the workspace", func() bool { return len(k.pending(one)) == 0 })
	k.eventually("the trail says so", func() bool {
		return strings.Contains(strings.Join(k.trail(one), "\n"), "run.cancelled")
	})
}

// TestRunsStopAtTheNextStart: the only process has recorded that the app was removed, and died before it had stopped
// the workspace's runs. It stops them when it is there again.
func TestRunsStopAtTheNextStart(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	k.card(one, k.mention(one))
	k.stop()
	k.record(func(records *approvals.Installations) error {
		i, err := records.Of(t.Context(), one)
		if err != nil {
			return err
		}
		return records.End(t.Context(), one, i.Token, "app_uninstalled")
	})
	k.start()
	k.eventually("nothing waits in the workspace", func() bool { return len(k.pending(one)) == 0 })
	k.eventually("the trail says so", func() bool {
		return strings.Contains(strings.Join(k.trail(one), "\n"), "run.cancelled")
	})
}

// record changes where the app is installed while no bot runs.
func (k *town) record(change func(*approvals.Installations) error) {
	k.t.Helper()
	store, err := k.opened()
	if err != nil {
		k.t.Fatal(err)
	}
	err = change(approvals.NewInstallations(store, k.log()))
	if err := errors.Join(err, store.Close()); err != nil {
		k.t.Fatal(err)
	}
}

// open reports whether the bot takes work in.
func (r *resident) open() bool {
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	return r.work.ctx != nil
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
