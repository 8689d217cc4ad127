package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/slackdev"
)

// TestHelp shows every command's help with an example.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "run", "demo", "check", "approvals", "approvals list", "approvals show", "approvals decide",
		"audit", "audit verify", "audit export", "approvals export", "audit report",
		"outbox", "outbox list", "outbox replay",
		"grants", "grants list", "grants revoke",
		"runs", "runs list", "runs show", "runs cancel", "runs retry",
		"backup", "restore", "version", "healthcheck", "demo-mcp", "completion", "help",
	} {
		out, err := exec.Command(cli(t), append(strings.Fields(command), "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if !strings.Contains(string(out), "Examples:\n  ") || !strings.Contains(string(out), "countersign") {
			t.Errorf("%s has no example:\n%s", command, out)
		}
	}
}

// TestUsage ends with 2 what cannot be tried.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"fly", `countersign has no command "fly"; it has approvals,`},
		{"aprovals list", "did you mean approvals?"},
		{"aprovals list --json", "did you mean approvals?"},
		{"approvals lits --json", `countersign approvals has no command "lits"; did you mean list?`},
		{"approvals --json", "unknown flag: --json"},
		{"help fly", `countersign has no command "fly"; it has approvals,`},
		{"help approvals fly", "Try: countersign approvals --help"},
		{"help approvals fly", `countersign approvals has no command "fly"`},
		{"help check now", `unexpected argument "now"`},
		{"completion", "it has the commands bash, fish, powershell, zsh"},
		{"completion bsh", "did you mean bash or"},
		{"approvals", "break-glass, callback, decide, export, list, review, show"},
		{"approvals fly", `countersign approvals has no command "fly"`},
		{"version now", `unexpected argument "now"`},
		{"grants", "it has the commands list, revoke"},
		{"runs", "it has the commands cancel, list, retry, show"},
		{"runs list --status open", "queued, running, waiting, done, failed, cancelled, all"},
		{"runs list --limit -1", "--limit is a number of runs"},
		{"runs list --count --limit 2", "--count counts all"},
		{"runs list --since 1h --until 2h", "no run can match"},
		{"runs show", "needs a run's id"},
		{"runs cancel run_1", "--as takes"},
		{"runs retry run_1", "--as takes"},
		{"grants revoke", "needs a grant's id"},
		{"approvals decide req_1 --approve --scope thread --as U1", "go with --always-approve or --always-reject"},
		{"approvals decide req_1 --always-approve --scope run --uses 0 --as U1", "leave the flag out for any number"},
		{"approvals decide req_1 --always-approve --uses 0 --as U1", "leave the flag out for any number"},
		{"approvals decide req_1 --always-approve --uses -1 --as U1", "a number of calls, 1 or more"},
		{"approvals decide req_1 --always-approve --ttl 0 --as U1", "how long the answer holds, such as 2h or 7d"},
		{"approvals decide req_1 --always-approve --ttl -1h --as U1", "how long the answer holds, such as 2h or 7d"},
		{"approvals decide req_1 --always-approve --ttl soon --as U1", "how long the answer holds, such as 2h or 7d"},
		{"approvals decide req_1 --always-approve --same '' --as U1", "leave the flag out for no condition"},
		{"approvals decide req_1 --always-approve --at-most= --as U1", "leave the flag out for no condition"},
		{"approvals decide req_1 --always-approve --without '' --as U1", "leave the flag out for no condition"},
		{"approvals decide req_1 --always-approve --same to --same '' --as U1", "leave the flag out for no condition"},
		{"approvals decide req_1 --always-approve --same to, --as U1", "leave the flag out for no condition"},
		{"approvals decide req_1 --always-approve --scope '' --as U1", "--scope is empty; leave the flag out"},
		{"approvals decide req_1 --approve --as U1 --for ''", "--for is empty; leave the flag out"},
		{"audit verify --checkpoints ''", "--checkpoints is empty; leave the flag out"},
		{"audit export -o ''", "--output is empty; leave the flag out"},
		{"policy simulate --since 7d --file ''", "--file is empty; leave the flag out"},
		{"check --fast", "unknown flag: --fast"},
		{"approvals show", "needs a request's id"},
		{"approvals show ''", "needs a request's id"},
		{"approvals list --limit -1", "--limit is a number of requests"},
		{"approvals decide req_1 --approve --as U1 --digest ''", "at least the 16 hexadecimal digits"},
		{"approvals decide req_1 --approve --as U1 --digest 00", "at least the 16 hexadecimal digits"},
		{"approvals decide req_1 --approve --as U1 --digest 0123456789abcdeg", "at least the 16 hexadecimal digits"},
		{"approvals decide req_1 --as U1", "what is the answer?"},
		{"approvals decide req_1 --approve", "--as takes"},
		{"approvals decide req_1 --approve --as U1 --for U1", "--for names somebody else"},
		{"approvals decide req_1 --approve --reject --as U1", "--approve and --reject: a request has one answer"},
		{"approvals decide req_1 --mark-done --as U1", "needs --reason"},
		{"approvals decide req_1 --retry --always --as U1", "--always goes with"},
		{"approvals list --status done",
			"pending, approved, rejected, expired, cancelled, stale, superseded, review, audit, all"},
		{"approvals list --status done", `invalid argument "done" for "--status" flag: it is one of pending,`},
		{"approvals list --since tomorrow", "how long ago"},
		{"approvals decide req_1 --edit {x --as U1", "--edit: this is not JSON"},
		{"approvals decide req_1 --edit @absent.json --as U1", "--edit: open absent.json"},
		{"approvals decide req_1 --input-json [ --as U1", "--input-json: this is not JSON"},
		{"approvals decide req_1 --input date --as U1", "--input date: write NAME=VALUE"},
		{"approvals decide req_1 --input a=1 --input a=2 --as U1", "--input: a is given twice"},
		{"approvals decide req_1 --always-approve --scope planet --as U1",
			`--scope "planet": it is run, thread, channel or workspace`},
		{"policy simulate --since 1d --file absent.yaml", "absent.yaml: no such file or directory; examples/"},
		{"check absent.yaml", "absent.yaml: no such file or directory; examples/"},
		{"audit verify --head 12ab", "64 hexadecimal digits"},
		{"outbox", "list, replay"},
		{"outbox replay", "needs the ids of dead letters, or --all"},
		{"outbox replay ntf_1 --all", "--all puts back everything"},
		{"outbox list --limit -1", "--limit is a number of dead letters"},
		{"outbox replay ntf_1", "there is no store at"},
		{"backup", "needs the file to make"},
		{"restore", "needs the file to restore"},
		{"restore old.db", "there is no file old.db; name a file"},
		{"''", `has no command ""; it has approvals,`},
		{"approvals list", "there is no store at"},
		{"audit verify", "there is no store at"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		cmd := exec.Command(cli(t), args...)
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
			thread := w.mention("pay 7654321")
			card := w.card(thread, 1)
			if !running {
				bot.stop()
			}
			id := w.listed()
			if out, complaint, code := w.run("approvals", "show", id); code != 0 ||
				!strings.Contains(out, `"amount": 7654321`) || !strings.Contains(out, "pending") {
				t.Errorf("show: %d\n%s%s", code, out, complaint)
			}
			w.refusals(id)
			w.copied()
			if out, complaint, code := w.run("approvals", "decide", id, "--reject", "--reason", "not today",
				"--as", ben); code != 0 || !strings.Contains(out, "rejected") {
				t.Errorf("decide: %d\n%s%s", code, out, complaint)
			}
			if out, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", cleo); code != 1 ||
				!strings.Contains(complaint, "by "+ben) {
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
			via := "cli"
			if w.store != "" { // of several replicas: a socket of one of them, or the database
				via = map[bool]string{true: "socket", false: "database"}[running]
			}
			if out, _, _ := w.run("audit", "export"); !strings.Contains(out, `"via":"`+via+`"`) {
				t.Errorf("the trail does not say how the answer came:\n%s", out)
			}
			w.exported(id, via)
			w.verified()
		})
	}
}

// exported checks what auditors are given: requests and entries of a time, as lines and as a table.
func (w *world) exported(id, via string) {
	w.t.Helper()
	out, complaint, code := w.run("approvals", "export", "--from", "1h")
	var r struct {
		ID, Tool, Status, Audit string
		Decisions               []struct{ By, Verdict, Via string }
	}
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || r.ID != id || r.Tool != "pay" ||
		r.Status != "rejected" || r.Audit != "ok" || len(r.Decisions) != 1 || r.Decisions[0].Via != via {
		w.t.Errorf("approvals export: %d %v\n%s%s", code, err, out, complaint)
	}
	out, complaint, code = w.run("approvals", "export", "--format", "csv")
	if code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, ben+" reject ") {
		w.t.Errorf("approvals export as CSV: %d\n%s%s", code, out, complaint)
	}
	if out, complaint, code := w.run("approvals", "export", "--to", "1h"); code != 0 || out != "" {
		w.t.Errorf("approvals export of nothing: %d\n%s%s", code, out, complaint)
	}
	all, _, _ := w.run("audit", "export", "--since", "1h", "--workspace", "T0DEV", "--format", "csv")
	if !strings.HasPrefix(all, "workspace,seq,at,") || !strings.Contains(all, "decision.recorded") {
		w.t.Errorf("audit export as CSV:\n%s", all)
	}
	if out, _, code := w.run("audit", "export", "--until", "1h"); code != 0 || out != "" {
		w.t.Errorf("audit export of nothing: %d\n%s", code, out)
	}
}

// listed returns the id of the only pending request.
func (w *world) listed() string {
	w.t.Helper()
	if out, _, code := w.run("approvals", "list"); code != 0 || !strings.Contains(out, "pay") ||
		strings.Contains(out, "7654321") {
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
		if out, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", c.user); code != 1 ||
			!strings.Contains(complaint, c.want) {
			w.t.Errorf("decide as %s: %d\n%s%s", c.user, code, out, complaint)
		}
	}
	other := strings.Repeat("0", 64)
	if _, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", ben, "--digest", other); code != 1 ||
		!strings.Contains(complaint, "stale") {
		w.t.Errorf("decide with another digest: %d %s", code, complaint)
	}
	for lists, args := range map[string][]string{
		"approvals list --status all": {"approvals", "show", "req_absent"},
		"runs list":                   {"runs", "show", "run_absent"},
		"grants list --all":           {"grants", "revoke", "grant_absent"},
		"outbox list":                 {"outbox", "replay", "ntf_absent"},
	} {
		if _, complaint, code := w.run(args...); code != 1 || !strings.Contains(complaint, "not found") ||
			!strings.Contains(complaint, "countersign "+lists+" prints the ids") {
			w.t.Errorf("%v: %d %s", args, code, complaint)
		}
	}
}

// copied makes a backup and opens it.
func (w *world) copied() {
	w.t.Helper()
	if w.store != "" {
		return // see TestCommandsReachADatabase
	}
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
	if _, complaint, code := w.run("backup", filepath.Join("copy.db", "copy.db")); code != 2 ||
		!strings.Contains(complaint, "copy.db is no folder") {
		w.t.Errorf("backup below a file: %d %s", code, complaint)
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
	for _, want := range []string{"pay", "asks if args.amount > 1", "POST ${EFFECTS_URL}/pay", "current_time",
		"never asks", "workspace T0DEV"} {
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
	w.extra = []string{"COUNTERSIGN_SLACK_MODE=sockets"}
	if _, complaint, code := w.run("check", "--offline"); code != 2 ||
		!strings.Contains(complaint, `"sockets" is neither`) {
		t.Errorf("--offline with a wrong value: %d\n%s", code, complaint)
	}
	w.write("countersign.yaml", "version: 1\nagents: {}\n")
	w.extra = []string{"COUNTERSIGN_LOG_LEVEL=loud"}
	if _, complaint, code := w.run("check"); code != 2 || !strings.Contains(complaint, "COUNTERSIGN_LOG_LEVEL") ||
		!strings.Contains(complaint, "countersign.yaml:1:1") {
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

// TestCheckGroups names user groups that Slack does not know, wherever the file names them. Offline nobody is asked.
func TestCheckGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: "requesters: { channel_members: true, groups: [S0ASKERS] }\n" +
		"default_policy: { all_of: [{ groups: [\"${FINANCE}\"] }, { groups: [S0FIANCE] }] }\n"})
	w.extra = []string{"FINANCE=S0FINANCE"}
	w.slack.SetUserGroup(slackdev.UserGroup{ID: "S0FINANCE", Handle: "finance", Users: []string{ben}})
	out, complaint, code := w.run("check")
	if code != 2 || strings.Count(complaint, "no user group") != 2 || !strings.Contains(complaint, "S0ASKERS") ||
		!strings.Contains(complaint, "S0FIANCE") || !strings.Contains(complaint, "countersign.yaml:") {
		t.Errorf("%d\n%s%s", code, out, complaint)
	}
	if out, complaint, code := w.run("check", "--offline"); code != 0 {
		t.Errorf("offline: %d\n%s%s", code, out, complaint)
	}
	for _, id := range []string{"S0ASKERS", "S0FIANCE"} {
		w.slack.SetUserGroup(slackdev.UserGroup{ID: id, Handle: strings.ToLower(id), Users: []string{ben}})
	}
	if out, complaint, code := w.run("check"); code != 0 {
		t.Errorf("with the groups: %d\n%s%s", code, out, complaint)
	}
}

// TestCheckUnmatched warns of a policy for a tool that no agent has, and so does the log of the bot.
func TestCheckUnmatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: anybody +
		"policies: [{ name: large, when: tool == \"pya\" && args.amount > 1, approvers: { users: [U0BEN] } }]\n"})
	const want = "WARNING: policy large holds for no call: no agent has a tool called \"pya\"; did you mean \"pay\"?\n"
	if out := w.must("check", "--offline"); !strings.Contains(out, want) {
		t.Errorf("want %q in:\n%s", want, out)
	}
	if out := w.must("check", "--offline", "--json"); !strings.Contains(out,
		`"unmatched":[{"policy":"large","tool":"pya","near":"pay"}]`) {
		t.Errorf("--json:\n%s", out)
	}
	w.start().says("holds for no call: no agent has the tool that it is for\" policy=large tool=pya near=pay")
}

// TestExamples checks the files that people start from.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.yaml") })
	files = append(files, filepath.Join("..", "..", "examples", "finance", "finance.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("examples: %q, %v", files, err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(cli(t), "check", "--offline", path)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PAYMENTS_URL=https://payments.example.com", "PAYMENTS_TOKEN=" + canaryToken,
			"WORKDIR=" + t.TempDir(), "COUNTERSIGN=/" + canaryToken, "FINANCE_GROUP=S1", "CONTROLLERS_GROUP=S2"}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "SLACK_BOT_TOKEN") ||
			strings.Contains(string(out), canaryToken) {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// everything has a tool of every type.
const everything = `version: 1
default_agent: ops
agents:
  ops:
    instructions: Help.
    model: m
    handoffs: [billing]
    tools:
      - { type: function, name: current_time }
      - { type: http, name: look, description: D, method: GET, url: "${EFFECTS_URL}/look" }
      - { type: shell, workdir: "${HOME}", approval: audit }
      - { type: apply_patch, root: "${HOME}", native: true }
      - { type: mcp, server: files, require_approval: never }
      - type: hosted_mcp
        server_label: wiki
        server_url: https://wiki.example/mcp
        headers: { Authorization: "Bearer ${EFFECTS_TOKEN}" }
      - { type: agent, agent: billing, name: ask_billing, description: D, needs_approval: has(args.input) }
      - { type: web_search }
      - { type: external, name: deploy, description: D }
  billing: { instructions: Help., model: m, api: chat_completions }
mcp_servers:
  files: { command: [/absent/program, "${EFFECTS_TOKEN}"] }
`

// TestCheckTypes has a line for every type of tool.
func TestCheckTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.write("countersign.yaml", everything+anybody)
	out, complaint, code := w.run("check", "--offline")
	if code != 0 {
		t.Fatalf("%d\n%s%s", code, out, complaint)
	}
	var lines []string
	for line := range strings.SplitSeq(out, "\n") {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "ops" {
			lines = append(lines, strings.Join(fields[1:], " "))
		}
	}
	want := []string{
		"current_time function never asks",
		"look http never asks GET ${EFFECTS_URL}/look",
		"shell shell records every call ${HOME}",
		"apply_patch apply_patch always asks ${HOME}",
		"* mcp never asks /absent/program ${EFFECTS_TOKEN}",
		"wiki hosted_mcp always asks https://wiki.example/mcp",
		"ask_billing agent asks if has(args.input) agent billing",
		"web_search web_search never asks",
		"deploy external always asks, then waits for the result",
		"transfer_to_billing handoff never asks",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("check (-want +have):\n%s", diff)
	}
	var report struct {
		Tools []struct{ Agent, Tool, Type, Gate, Call string }
	}
	if out, _, _ := w.run("check", "--offline", "--json"); json.Unmarshal([]byte(out), &report) != nil ||
		len(report.Tools) != len(want) || report.Tools[8].Type != "external" {
		t.Errorf("--json:\n%s", out)
	}
}
