package approvals_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/store"
)

// newInstallations are those of an empty store.
func newInstallations(t *testing.T) (*approvals.Installations, approvals.Store) {
	t.Helper()
	st, err := store.Open(t.Context(), storeFor(t), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return approvals.NewInstallations(st, nil), st
}

func theApp(token approvals.BotToken) approvals.Installation {
	return approvals.Installation{Team: string(ws), Enterprise: "E1", BotUser: "U0BOT", Token: token, By: ann}
}

// actions lists the actions of the trail with their data.
func actions(t *testing.T, st approvals.Store) (all []string) {
	t.Helper()
	err := approvals.ExportAudit(t.Context(), st, ws, func(e *approvals.AuditEntry) error {
		all = append(all, fmt.Sprintf("%s %s %s", e.Action, e.Actor, e.Data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestInstallationBeginsAndEnds(t *testing.T) {
	t.Parallel()
	in, st := newInstallations(t)
	for _, token := range []approvals.BotToken{"xoxb-1", "xoxb-2"} {
		if _, err := in.Install(t.Context(), theApp(token)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := in.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Workspace != ws || all[0].Token != "xoxb-2" || !all[0].Live() {
		t.Fatalf("%+v, %v", all, err)
	}
	for range 2 { // Slack says it in two events
		if err := in.End(t.Context(), ws, "xoxb-2", "app_uninstalled"); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.End(t.Context(), "T9", "xoxb-2", "app_uninstalled"); err != nil {
		t.Errorf("of a workspace that never had the app: %v", err)
	}
	all, err = in.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Live() || all[0].Token != "" || all[0].Why != "app_uninstalled" {
		t.Errorf("%+v, %v", all, err)
	}
	want := []string{
		`installation.created T1/ann `, `installation.created T1/ann {"why":"again"}`,
		`installation.ended system {"why":"app_uninstalled"}`,
	}
	if got := actions(t, st); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the trail: %q", got)
	}
	for name, bad := range map[string]func(*approvals.Installation){
		"a workspace": func(i *approvals.Installation) { i.Team, i.Enterprise = "", "" },
		"a token":     func(i *approvals.Installation) { i.Token = "" },
		"a bot user":  func(i *approvals.Installation) { i.BotUser = "" },
	} {
		i := theApp("xoxb-1")
		bad(&i)
		if _, err := in.Install(t.Context(), i); !errors.Is(err, approvals.ErrInvalid) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestEndOfAnOldTokenIsNotThatOfTheInstallation: one process hears that a token was revoked while another one records
// the next installation. Whichever is first, the app is installed afterwards.
func TestEndOfAnOldTokenIsNotThatOfTheInstallation(t *testing.T) {
	t.Parallel()
	in, st := newInstallations(t)
	for _, token := range []approvals.BotToken{"xoxb-1", "xoxb-2"} {
		if _, err := in.Install(t.Context(), theApp(token)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.End(t.Context(), ws, "xoxb-1", "tokens_revoked"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("the end of the old token: %v", err)
	}
	if i, err := in.Of(t.Context(), ws); err != nil || !i.Live() || i.Token != "xoxb-2" {
		t.Errorf("the installation: %+v, %v", i, err)
	}
	if got := strings.Join(actions(t, st), "\n"); strings.Contains(got, "installation.ended") {
		t.Errorf("the trail: %s", got)
	}
	if err := in.End(t.Context(), ws, "xoxb-2", "tokens_revoked"); err != nil {
		t.Errorf("control: the end of its own token: %v", err)
	}
}

// TestReinstallingSendsWhatWaited: what was given up while the app was away goes out again, and nothing that was given
// up before.
func TestReinstallingSendsWhatWaited(t *testing.T) {
	t.Parallel()
	in, st := newInstallations(t)
	if _, err := in.Install(t.Context(), theApp("xoxb-1")); err != nil {
		t.Fatal(err)
	}
	dead := func(id approvals.NotificationID) {
		t.Helper()
		err := st.Update(t.Context(), func(tx approvals.Tx) error {
			return tx.PutNotification(&approvals.Notification{
				Workspace: ws, ID: id, Kind: approvals.NotifyNotice, Place: place, Run: "run_1", Text: "words",
				Created: tx.Now(), Dead: tx.Now(), Why: "nobody is there",
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	dead("ntf_before")
	if err := in.End(t.Context(), ws, "xoxb-1", "tokens_revoked"); err != nil {
		t.Fatal(err)
	}
	dead("ntf_meanwhile")
	if _, err := in.Install(t.Context(), theApp("xoxb-2")); err != nil {
		t.Fatal(err)
	}
	err := st.View(t.Context(), func(tx approvals.Tx) error {
		waiting, err := tx.Notifications(ws, place, "", 10)
		letters, failed := tx.DeadLetters(ws, "", 10)
		if len(waiting) != 1 || waiting[0].ID != "ntf_meanwhile" || len(letters) != 1 || letters[0].ID != "ntf_before" {
			t.Errorf("waiting %+v, dead %+v", waiting, letters)
		}
		return errors.Join(err, failed)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStopIsForWorkspacesWithoutTheApp: the runs of a workspace that has it go on.
func TestStopIsForWorkspacesWithoutTheApp(t *testing.T) {
	t.Parallel()
	in, st := newInstallations(t)
	if _, err := in.Install(t.Context(), theApp("xoxb-1")); err != nil {
		t.Fatal(err)
	}
	elsewhere := place
	elsewhere.Thread = "2.2"
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		for id, at := range map[approvals.RunID]approvals.Place{"run_1": place, "run_2": elsewhere} {
			err := tx.PutRun(&approvals.Run{
				Workspace: ws, ID: id, Place: at, Agent: "ops", Requester: ann, Input: "pay", Created: tx.Now(),
				Status: map[approvals.RunID]approvals.RunStatus{
					"run_1": approvals.RunWaiting, "run_2": approvals.RunQueued,
				}[id],
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := in.Stop(t.Context(), ws); n != 0 || err != nil {
		t.Errorf("%d runs stopped where the app is installed, %v", n, err)
	}
	if err := in.End(t.Context(), ws, "xoxb-1", "app_uninstalled"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		if n, err := in.Stop(t.Context(), ws); n != want || err != nil {
			t.Errorf("%d runs stopped, want %d, %v", n, want, err)
		}
	}
	trail := strings.Join(actions(t, st), "\n")
	if n := strings.Count(trail, `run.cancelled system {"why":"uninstalled"}`); n != 2 {
		t.Errorf("the trail tells of %d:\n%s", n, trail)
	}
}

func TestTokensDoNotShowThemselves(t *testing.T) {
	t.Parallel()
	i := theApp("xoxb-secret")
	i.Installed = time.Now()
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "i", i, "token", i.Token)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "i", i, "token", i.Token)
	fmt.Fprintf(&b, "%v %+v %#v %s %q %v", i, &i, i, i.Token, i.Token, []approvals.Installation{i})
	raw, err := json.Marshal(i)
	if b.Write(raw); err != nil || strings.Contains(b.String(), "secret") {
		t.Errorf("%v: %s", err, b.String())
	}
	if i.Token.Reveal() != "xoxb-secret" {
		t.Error("control: the token is lost")
	}
}
