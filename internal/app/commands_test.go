package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestBadStart ends quickly with the name of what is wrong and the fix, and shows no secret.
func TestBadStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(w *world) []string // returns further variables
		code  int
		want  []string
	}{
		{"token missing", func(*world) []string { return []string{"SLACK_BOT_TOKEN="} }, 2, []string{"SLACK_BOT_TOKEN is not set"}},
		{"token refused", func(w *world) []string { w.slack.RevokeToken(); return nil }, 2, []string{"SLACK_BOT_TOKEN", "token_revoked"}},
		{"other token", func(*world) []string { return []string{"SLACK_BOT_TOKEN=" + canaryBot + "x"} }, 2, []string{"SLACK_BOT_TOKEN", "invalid_auth"}},
		{"app token refused", func(*world) []string { return []string{"SLACK_APP_TOKEN=" + canaryApp + "x"} }, 2, []string{"SLACK_APP_TOKEN", "invalid_auth"}},
		{"Slack away", func(*world) []string { return []string{"SLACK_API_URL=http://127.0.0.1:1/api/"} }, 1, []string{"SLACK_API_URL"}},
		{"no agents file", func(*world) []string { return []string{"COUNTERSIGN_AGENTS=absent.yaml"} }, 2, []string{"absent.yaml", "COUNTERSIGN_AGENTS"}},
		{"bad agents file", func(w *world) []string {
			w.write("countersign.yaml", "version: 1\nagents:\n  ops: { instuctions: x, model: y }\n")
			return nil
		}, 2, []string{`countersign.yaml:3:10: unknown key "instuctions"`, `did you mean "instructions"?`}},
		{"variable missing", func(*world) []string { return []string{"EFFECTS_TOKEN="} }, 2, []string{"countersign.yaml:18:35", "EFFECTS_TOKEN is not set"}},
		{"no policy", func(w *world) []string { w.write("countersign.yaml", fmt.Sprintf(agentsYAML, "")); return nil }, 2, []string{"countersign.yaml:8:9", "default_policy"}},
		{"later variable", func(*world) []string { return []string{"COUNTERSIGN_ENCRYPTION_KEYS=a:" + canaryToken} }, 2, []string{"COUNTERSIGN_ENCRYPTION_KEYS", "not supported by this version"}},
		{"address in use", func(w *world) []string {
			return []string{"COUNTERSIGN_LISTEN=" + strings.TrimPrefix(w.effects.server.URL, "http://")}
		}, 1, []string{"COUNTERSIGN_LISTEN", "in use"}},
		{"no store folder", func(*world) []string { return []string{"COUNTERSIGN_STORE=bolt:absent/x.db"} }, 1, []string{"absent/x.db"}},
		{"no store", func(w *world) []string { w.write("countersign.db", strings.Repeat("not a store ", 1000)); return nil }, 1, []string{"countersign.db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{})
			more := c.spoil(w)
			started := time.Now()
			p := w.spawn(binary(t), w.env(more...), "run")
			if code := p.wait(patience); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if took := time.Since(started); took > 6*time.Second {
				t.Errorf("took %s", took)
			}
			for _, want := range c.want {
				if !strings.Contains(p.out.String(), want) {
					t.Errorf("want %q in:\n%s", want, p.out.String())
				}
			}
		})
	}
}

// TestDamagedStore refuses a truncated file with words, and no stack.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	w.answer(w.mention("pay 1"), "R-1")
	bot.stop()
	path := filepath.Join(w.dir, "countersign.db")
	if err := os.Truncate(path, 3*4096); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run"}, {"audit", "verify"}, {"approvals", "list"}} {
		out, complaint, code := w.run(args...)
		if code != 1 || !strings.Contains(complaint, "countersign.db") || !strings.Contains(complaint, "damaged") {
			t.Errorf("%v: %d\n%s%s", args, code, out, complaint)
		}
	}
}

// TestSecondProcess is refused with the path; the first one does not notice.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	out, complaint, code := w.run("run")
	if code != 1 || !strings.Contains(complaint, "countersign.db") || !strings.Contains(complaint, "in use by another process") {
		t.Errorf("%d\n%s%s", code, out, complaint)
	}
	w.answer(w.mention("pay 1"), "R-1")
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

// TestReload takes a new file at SIGHUP, and keeps the old one when the new one is wrong.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	good, err := os.ReadFile(filepath.Join(w.dir, "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("countersign.yaml", "version: 1\nfoo: bar\n")
	bot.signal(syscall.SIGHUP)
	bot.says("stays in force")
	bot.says(`countersign.yaml:2:1: unknown key`)
	w.card(w.mention("pay 2"), 1)

	w.write("countersign.yaml", strings.Replace(string(good), "args.amount > 1", "args.amount > 1000", 1))
	bot.signal(syscall.SIGHUP)
	bot.says("agents file reloaded")
	w.answer(w.mention("pay 2"), "R-1")
}

// TestHTTP serves health, readiness and metrics, and refuses what Slack did not sign.
func TestHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{http: true})
	w.start()
	w.answer(w.mention("pay 1"), "R-1")
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get("http://" + w.listen + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, readAll(t, resp.Body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	wanted := []string{
		`countersign_submissions_total{outcome="started"} 1`, `countersign_audit_entries_total{action="run.done"} 1`,
		"countersign_requests_pending 0", `countersign_model_call_seconds_count{outcome="ok"} 2`,
		`countersign_delivery_seconds_count{kind="answer",outcome="ok"} 1`, "go_goroutines",
	}
	for deadline := time.Now().Add(patience); ; { // the answer is seen before its delivery is counted
		_, body := get("/metrics")
		missing := slices.DeleteFunc(slices.Clone(wanted), func(line string) bool { return strings.Contains(body, line) })
		if len(missing) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/metrics does not say %q:\n%s", missing, body)
		}
	}
	resp, err := http.Post("http://"+w.listen+"/slack/events", "application/json", strings.NewReader(`{"type":"event_callback"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unsigned request got %d", resp.StatusCode)
	}
	if _, complaint, code := w.run("healthcheck", "--ready"); code != 0 {
		t.Errorf("healthcheck: %d %s", code, complaint)
	}
	w.listen = freeAddress(t)
	if _, _, code := w.run("healthcheck"); code != 1 {
		t.Errorf("healthcheck of nothing: %d", code)
	}
}

// TestDrain lets a tool that runs at SIGTERM finish, and goes on with the next start.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	release := w.effects.holdBack()
	w.mustClick(ben, card, "approve")
	<-w.effects.came
	bot.signal(syscall.SIGTERM)
	bot.says("msg=stopping")
	release()
	if code := bot.wait(6 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.start()
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
}

// TestOutcomeUnknown asks a person after a crash in the middle of a call.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	release := w.effects.holdBack()
	defer release()
	w.mustClick(ben, card, "approve")
	<-w.effects.came
	bot.kill()
	w.start()
	question := w.card(thread, 2)
	if !strings.Contains(strings.ToLower(question.Shown()), "unknown") {
		t.Errorf("the question:\n%s", question.Shown())
	}
	id := fmt.Sprint(question.Metadata.EventPayload["request"])
	if _, complaint, code := w.run("approvals", "decide", id, "--mark-done", "--reason", "it was paid", "--as", ben); code != 0 {
		t.Fatalf("%d %s", code, complaint)
	}
	w.answer(thread, "it was paid")
	w.settled(question, "Approved")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.verified()
}

// TestDemo plays the story that the README promises.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	cmd := exec.Command(binary(t), "demo", "--headless", "--keep", dir)
	cmd.Env = []string{"PATH=/nowhere", "OPENAI_API_KEY=" + canaryModel, "SLACK_BOT_TOKEN=" + canaryBot}
	started := time.Now()
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || !strings.HasPrefix(lines[len(lines)-1], "audit: ok") {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	for _, want := range []string{"kill -9", "Rejected", "Approved", "TR-0001", "decision.recorded"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("does not tell of %q", want)
		}
	}
	for _, name := range []string{"countersign.db", "countersign.yaml", "bot.log"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(data), canaryModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDemoControl fails where the bot cannot start.
func TestDemoControl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(t), "demo", "--headless", "--keep", dir)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "is not empty") {
		t.Errorf("%d\n%s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestDemoStays starts a killed bot again, and leaves none behind when it is killed itself.
func TestDemoStays(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := spawn(t, binary(t), home, []string{"TMPDIR=" + home}, "demo")
	p.says("Stop: Ctrl-C")
	var first, second int
	if _, err := fmt.Sscan(regexp.MustCompile(`kill -9 (\d+)`).FindStringSubmatch(p.out.String())[1], &first); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.says("It is back, as process")
	if _, err := fmt.Sscan(regexp.MustCompile(`as process (\d+)`).FindStringSubmatch(p.out.String())[1], &second); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		p.kill()
		for deadline := time.Now().Add(patience); syscall.Kill(second, 0) == nil && !zombie(second); {
			if time.Now().After(deadline) {
				t.Fatal("the bot outlives the demo")
			}
			<-time.After(10 * time.Millisecond)
		}
		return
	}
	p.signal(os.Interrupt)
	if code := p.wait(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// zombie reports whether the process has ended and only its parent has not noticed.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestDemoEnds removes everything at an interrupt.
func TestDemoEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := spawn(t, binary(t), home, []string{"TMPDIR=" + home}, "demo")
	p.says("Stop: Ctrl-C")
	if entries, _ := os.ReadDir(home); len(entries) != 1 {
		t.Errorf("the demo works in %v", entries)
	}
	p.signal(os.Interrupt)
	if code := p.wait(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("the demo leaves %v behind", entries)
	}
}

// TestUninstalled ends the program when Slack takes the token away.
func TestUninstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	w.answer(w.mention("pay 1"), "R-1")
	w.slack.RevokeToken()
	if code := bot.wait(patience); code == 0 || !strings.Contains(bot.out.String(), "countersign: ") {
		t.Errorf("exit code %d:\n%s", code, bot.out.String())
	}
	w.verified()
}
