package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// TestHelp shows every command's help with an example.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "run", "demo", "check", "approvals", "approvals list", "approvals show", "approvals decide", "audit", "audit verify",
		"audit export", "backup", "version", "healthcheck",
	} {
		out, err := exec.Command(binary(t), append(strings.Fields(command), "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if !strings.Contains(string(out), "Example:\n\n") || !strings.Contains(string(out), "countersign") {
			t.Errorf("%s has no example:\n%s", command, out)
		}
	}
}

// TestUsage ends with 2 what cannot be tried.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"fly", "unexpected argument fly"},
		{"grants list", "unexpected argument grants"},
		{"check --fast", "unknown flag --fast"},
		{"approvals show", "expected \"<id>\""},
		{"approvals decide req_1 --as U1", "missing flags"},
		{"approvals decide req_1 --approve", "missing flags: --as"},
		{"approvals decide req_1 --approve --reject --as U1", "can't be used together"},
		{"approvals decide req_1 --mark-done --as U1", "need --reason"},
		{"approvals decide req_1 --retry --always --as U1", "--always goes with"},
		{"backup", "expected \"<file>\""},
		{"approvals list", "there is no store at"},
		{"audit verify", "there is no store at"},
	} {
		cmd := exec.Command(binary(t), strings.Fields(c.args)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"COUNTERSIGN_STORE=bolt:absent.db"}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", c.args, cmd.ProcessState.ExitCode(), c.want, out)
		}
		if files, _ := os.ReadDir(cmd.Dir); len(files) != 0 {
			t.Errorf("%s: has left %v behind", c.args, files)
		}
	}
}

// TestCommands works on a store while the bot runs and while it does not.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %v", running), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{})
			bot := w.start()
			thread := w.mention("pay 77")
			card := w.card(thread, 1)
			if !running {
				bot.stop()
			}
			id := w.listed()
			if out, complaint, code := w.run("approvals", "show", id); code != 0 || !strings.Contains(out, `"amount": 77`) || !strings.Contains(out, "pending") {
				t.Errorf("show: %d\n%s%s", code, out, complaint)
			}
			w.refusals(id)
			w.copied()
			if out, complaint, code := w.run("approvals", "decide", id, "--reject", "--reason", "not today", "--as", ben); code != 0 || !strings.Contains(out, "rejected") {
				t.Errorf("decide: %d\n%s%s", code, out, complaint)
			}
			if out, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", cleo); code != 1 || !strings.Contains(complaint, "by "+ben) {
				t.Errorf("decide again: %d\n%s%s", code, out, complaint)
			}
			if out, _, code := w.run("approvals", "list"); code != 0 || !strings.Contains(out, "Nothing is pending") {
				t.Errorf("list: %d\n%s", code, out)
			}
			if !running {
				w.start()
			}
			w.settled(card, "Rejected")
			w.answer(thread, "not today")
			if out, _, _ := w.run("audit", "export"); !strings.Contains(out, `"via":"cli"`) {
				t.Errorf("the trail does not say how the answer came:\n%s", out)
			}
			w.verified()
		})
	}
}

// listed returns the id of the only pending request.
func (w *world) listed() string {
	w.t.Helper()
	if out, _, code := w.run("approvals", "list"); code != 0 || !strings.Contains(out, "pay") || strings.Contains(out, "77") {
		w.t.Errorf("list: %d\n%s", code, out)
	}
	out, complaint, code := w.run("approvals", "list", "--json")
	var s struct{ ID, Tool, Status string }
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil || s.Tool != "pay" || s.Status != "pending" {
		w.t.Fatalf("list --json: %d %v\n%s%s", code, err, out, complaint)
	}
	return s.ID
}

// refusals tries what must not work.
func (w *world) refusals(id string) {
	w.t.Helper()
	for _, c := range []struct{ user, want string }{
		{ann, "not authorized"}, {gus, "guest"}, {"U0NOBODY", ""},
	} {
		if out, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", c.user); code != 1 || !strings.Contains(complaint, c.want) {
			w.t.Errorf("decide as %s: %d\n%s%s", c.user, code, out, complaint)
		}
	}
	if _, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", ben, "--digest", "00"); code != 1 || !strings.Contains(complaint, "stale") {
		w.t.Errorf("decide with another digest: %d %s", code, complaint)
	}
	if _, complaint, code := w.run("approvals", "show", "req_absent"); code != 1 || !strings.Contains(complaint, "not found") {
		w.t.Errorf("show: %d %s", code, complaint)
	}
}

// copied makes a backup and opens it.
func (w *world) copied() {
	w.t.Helper()
	out, complaint, code := w.run("backup", "copy.db")
	if code != 0 || !strings.Contains(out, "copy.db") {
		w.t.Fatalf("backup: %d\n%s%s", code, out, complaint)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "copy.db")); err != nil || info.Mode().Perm() != 0o600 {
		w.t.Errorf("backup: %v %v", info, err)
	}
	if _, complaint, code := w.run("backup", "copy.db"); code != 2 || !strings.Contains(complaint, "exists already") {
		w.t.Errorf("backup over a file: %d %s", code, complaint)
	}
	w.extra = append(w.extra, "COUNTERSIGN_STORE=bolt:copy.db")
	defer func() { w.extra = w.extra[:len(w.extra)-1] }()
	if out, complaint, code := w.run("audit", "verify"); code != 0 || !strings.HasPrefix(out, "audit: ok") {
		w.t.Errorf("the copy does not verify: %d\n%s%s", code, out, complaint)
	}
	if out, _, code := w.run("approvals", "list", "--json"); code != 0 || strings.Count(out, "\n") != 1 {
		w.t.Errorf("the copy lists: %d\n%s", code, out)
	}
}

// TestCheck shows what every tool does.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	out, complaint, code := w.run("check")
	for _, want := range []string{"pay", "asks if args.amount > 1", "POST ${EFFECTS_URL}/pay", "current_time", "never asks", "workspace T0DEV"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, want %q in:\n%s%s", code, want, out, complaint)
		}
	}
	if out, _, code := w.run("check", "--offline", "--json"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("--json: %d\n%s", code, out)
	}
	if out, _, code := w.run("check", "--schema"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("--schema: %d\n%s", code, out)
	}
	w.write("countersign.yaml", "version: 1\nagents: {}\n")
	w.extra = []string{"COUNTERSIGN_LOG_LEVEL=loud"}
	if _, complaint, code := w.run("check"); code != 2 || !strings.Contains(complaint, "COUNTERSIGN_LOG_LEVEL") || !strings.Contains(complaint, "countersign.yaml:1:1") {
		t.Errorf("both problems at once: %d\n%s", code, complaint)
	}
	if files, _ := os.ReadDir(w.dir); len(files) != 1 {
		t.Errorf("check has left something behind: %v", files)
	}
}

// TestCheckScopes names scopes that the app lacks.
func TestCheckScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{slack: slackdev.Config{Scopes: []string{"chat:write", "users:read"}}})
	if out, complaint, code := w.run("check"); code == 0 || !strings.Contains(complaint, "channels:read") {
		t.Errorf("%d\n%s%s", code, out, complaint)
	}
}

// TestExample checks the file that people start from.
func TestExample(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "check", "--offline", path)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PAYMENTS_URL=https://payments.example.com", "PAYMENTS_TOKEN=" + canaryToken}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SLACK_BOT_TOKEN") || strings.Contains(string(out), canaryToken) {
		t.Errorf("%v\n%s", err, out)
	}
}
