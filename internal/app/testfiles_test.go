package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// playTests runs `countersign test` with the arguments, and returns what it printed and its exit code.
func playTests(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	home, err := os.MkdirTemp("", "ct-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	cmd := exec.Command(cli(t), append([]string{"test"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "OPENAI_API_KEY=" + canaryModel,
		"SLACK_BOT_TOKEN=" + canaryBot, "PAYMENTS_TOKEN=" + canaryBot}
	data, _ := cmd.CombinedOutput()
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 0 {
		t.Errorf("the tests leave %v behind: %v", entries, err)
	}
	if strings.Contains(string(data), canaryModel) || strings.Contains(string(data), canaryBot) {
		t.Error("the tests use the environment that they were started with")
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// TestExamplesPlayed plays the test files beside the examples, as their comments say.
func TestExamplesPlayed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "examples")
	allowed := map[string]string{"operations_test.yaml": "shell,apply_patch", "research_test.yaml": "mcp"}
	var tested, files []string
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case strings.HasSuffix(name, "_test.yaml"):
			tested = append(tested, strings.TrimSuffix(path, "_test.yaml")+".yaml")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				args := []string{"--timeout", "30s", path}
				if allowed[name] != "" {
					args = append(args, "--allow-tools", allowed[name])
				}
				if out, code := playTests(t, args...); code != 0 {
					t.Errorf("exit code %d\n%s", code, out)
				}
			})
		case strings.HasSuffix(name, ".yaml"):
			files = append(files, path)
		}
		return err
	})
	if diff := cmp.Diff(files, tested); err != nil || len(files) < 3 || diff != "" {
		t.Fatalf("not every example has a test file: %v\n%s", err, diff)
	}
}

// TestReadmeTest plays what docs/test-file.md says to paste.
func TestReadmeTest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "test-file.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "## Test your set-up in CI\n")
	blocks := strings.Split(section, "```")
	dir := t.TempDir()
	for i, name := range []string{"agents.yaml", "agents_test.yaml"} {
		text, ok := strings.CutPrefix(blocks[2*i+1], "yaml\n")
		if !ok || !strings.Contains(blocks[2*i], name) {
			t.Fatalf("there is no %s in docs/test-file.md", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := playTests(t, "--timeout", "30s", filepath.Join(dir, "agents_test.yaml"))
	if code != 0 || !strings.HasPrefix(out, "ok") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// oneTest is a test that passes; TestTestsFail spoils it in many ways.
const oneTest = `version: 1
agents: AGENTS
env: { PAYMENTS_URL: "${servers.payments}", PAYMENTS_TOKEN: tested }
people: { ann: {}, ben: {}, cleo: {}, gus: { role: guest } }
channels: { general: { members: [ann, ben, cleo, gus] } }
servers:
  payments:
    routes: [{ request: POST /transfer, json: { reference: TR-0001 } }]
tests:
  - name: one
    model:
      - when: pay Acme
        turns:
          - calls: [{ tool: transfer_funds, args: { amount: 250, to: Acme, memo: M } }]
          - reads: TR-0001
            says: Acme has its money.
    steps:
      - mention: pay Acme
        by: ann
        cards: [{ name: pay, tool: transfer_funds, args: { amount: 250, to: Acme, memo: M }, hides: [tested] }]
      - click: approve
        by: gus
        card: pay
        status: pending
        told: Guests cannot decide
      - click: approve
        by: ben
        card: pay
        calls: [{ server: payments, request: POST /transfer, body: { amount: 250.0, to: Acme, memo: M } }]
        decided_by: [ben]
        says: Acme has its money.
        run: done
`

// writeTest writes a test file for examples/countersign.yaml.
func writeTest(t *testing.T, text string) string {
	t.Helper()
	agents, err := filepath.Abs(filepath.Join("..", "..", "examples", "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "one_test.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "AGENTS", agents)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTestsFail spoils a passing test in one way each: every expectation can fail, and so can what nobody expects.
func TestTestsFail(t *testing.T) {
	t.Parallel()
	if out, code := playTests(t, "--timeout", "30s", writeTest(t, oneTest)); code != 0 {
		t.Fatalf("control: %d\n%s", code, out)
	}
	second := "          - calls: [{ tool: transfer_funds, args: { amount: 90, to: \"internal:a\", memo: M } }]\n"
	for _, c := range []struct {
		why, old, new string
		want          []string
	}{
		{"a call that no step expects", "          - reads", second + "          - reads",
			[]string{"what server payments receives", "nothing: the step does not expect it", `"to":"internal:a"`}},
		{"a call too early", "status: pending\n", "status: pending\n        calls: [{ server: payments, " +
			"request: POST /transfer, any_body: true }]\n", []string{"step 2", "POST /transfer", "nothing like it"}},
		{"another body", "250.0", "251", []string{`{"amount":251`, `got:      POST /transfer {"amount":250`}},
		{"a header", "memo: M } }]\n        decided",
			"memo: M }, headers: { Authorization: Bearer x } }]\n        decided",
			[]string{"with the header Authorization: Bearer x"}},
		{"another card", "args: { amount: 250, to: Acme, memo: M }, h", "args: { amount: 9, to: Acme, memo: M }, h",
			[]string{"_test.yaml:20:17: step 1, mention by ann", "card pay", `{"amount":9`, `{"amount":250`}},
		{"what a card hides", "hides: [tested]", "hides: [Acme]", []string{`a card that shows "Acme"`}},
		{"no such card", "cards: [{ name: pay,", "cards: [{ name: other, tool: lookup_invoice }, { name: pay,",
			[]string{"card other", "expected: lookup_invoice", "got:      transfer_funds"}},
		{"a card that no step expects", oneTest[strings.Index(oneTest, "        cards:"):], "        run: waiting\n",
			[]string{"step 1, mention by ann", "a card that no step expects:", "Acme"}},
		{"status", "status: pending", "status: approved",
			[]string{"step 2, click approve by gus on pay: status of card pay", "pending, decided by nobody",
				"waited"}},
		{"deciders", "decided_by: [ben]", "decided_by: [cleo]", []string{"deciders of card pay", "cleo", "ben"}},
		{"outcome", "decided_by: [ben]", "outcome: failed", []string{"outcome of card pay", "got:      ran"}},
		{"what is said", "\n        says: Acme has its money.\n        run",
			"\n        says: Globex has it.\n        run",
			[]string{"what the bot says", "Globex", "Acme has its money."}},
		{"what else is said", "\n        says: Acme has its money.\n        run", "\n        run",
			[]string{"what the bot says", "nothing else"}},
		{"what one person is told", "told: Guests cannot decide", "told: welcome",
			[]string{"what gus alone is told", "Guests cannot decide"}},
		{"what else one person is told", "        told: Guests cannot decide\n", "",
			[]string{"what gus alone is told", "nothing else"}},
		{"how the run ended", "run: done", "run: failed", []string{"the run", "expected: failed", "got:      done"}},
		{"an audit entry", "run: done", "run: done\n        audit: [{ action: decision.recorded, by: cleo }]",
			[]string{"decision.recorded by cleo", "decision.recorded by ben"}},
		{"what the model reads", "reads: TR-0001", "reads: TR-0002",
			[]string{"one_test.yaml:15:13", "the outputs that the model reads", "TR-0001"}},
		{"a turn that is not asked for", "says: Acme has its money.\n    steps",
			"says: Acme has its money.\n      - when: pay Globex\n        turns: [{ says: no }]\n    steps",
			[]string{`turn 1 of "pay Globex"`, "it never was"}},
		{"a turn too many", "          - reads: TR-0001\n            says: Acme has its money.\n", "",
			[]string{"no more than the 1 turns", "turn 2"}},
		{"words without a script", "mention: pay Acme", "mention: pay Globex", []string{"pay Globex", "pay Acme"}},
		{"a tool that the agent has not",
			"tool: transfer_funds, args: { amount: 250, to: Acme, memo: M } }]\n          -",
			"tool: steal } ]\n          -", []string{"the tools that the model is offered", "steal", "transfer_funds"}},
		{"a button that is not there", "click: approve\n        by: gus", "click: mark_done\n        by: gus",
			[]string{"the buttons of card pay", "mark_done", "approve, reject"}},
		{"somebody outside", "click: approve\n        by: ben", "click: approve\n        by: dan",
			[]string{"not a member"}},
		{"a card that nobody decides", oneTest[strings.Index(oneTest, "      - click: approve\n        by: ben"):], "",
			[]string{"the request for transfer_funds, pay", "nobody decided it", "to be asked for turn 2"}},
		{"a card that does not wait", "    model:", "    left_waiting: [pay]\n    model:",
			[]string{"to be waiting: it is in left_waiting", "approved"}},
		{"a file", "run: done", "run: done\n        files: { a.txt: x }", []string{"file a.txt", "no such file"}},
		{"a command", "      - click: approve\n        by: ben", "      - cli: [approvals, show, nothing]\n" +
			"      - click: approve\n        by: ben", []string{"the exit code", "expected: 0"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(oneTest, c.old, c.new, 1)
			text = strings.Replace(text, "gus: { role: guest } }", "gus: { role: guest }, dan: {} }", 1)
			if !strings.Contains(oneTest, c.old) {
				t.Fatal("the text to replace is not there")
			}
			out, code := playTests(t, "--timeout", "5s", writeTest(t, text))
			if code != 1 {
				t.Errorf("exit code %d\n%s", code, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestTestsRefused says what cannot be played, and where.
func TestTestsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, old, new, want string }{
		{"a wrong key", "cards:", "crads:", `one_test.yaml:20:9: unknown key "crads" in an ` +
			`item of steps; did you mean "cards"?`},
		{"no agents file", "agents: AGENTS", "agents: absent.yaml", "absent.yaml"},
		{"a variable", "PAYMENTS_TOKEN: tested", "OTHER: x", "environment variable PAYMENTS_TOKEN is not set"},
		{"the network", `"${servers.payments}"`, "https://pay.example",
			"the test calls transfer_funds, and ${PAYMENTS_URL}/transfer is none of its servers"},
		{"a tool that acts", "tool: transfer_funds, args: { amount: 250, to: Acme, memo: M } }]\n          -",
			"tool: current_time }]\n          -", "--allow-tools function"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			out, code := playTests(t, writeTest(t, strings.Replace(oneTest, c.old, c.new, 1)))
			if code != 2 || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want 2 and %q:\n%s", code, c.want, out)
			}
		})
	}
	for _, c := range []struct{ args, want string }{
		{"", "needs a file"}, {"--run nothing " + writeTest(t, oneTest), "matches no test"},
		{"--allow-tools all x", "none of function, shell"}, {"--timeout 0s x", "above 0"}, {"--run ( x", "--run:"},
	} {
		if out, code := playTests(t, strings.Fields(c.args)...); code != 2 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", c.args, code, c.want, out)
		}
	}
}

// TestTestsInLongFolder works where a socket beside the store would have too long a name.
func TestTestsInLongFolder(t *testing.T) {
	t.Parallel()
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cli(t), "test", "--timeout", "30s", writeTest(t, oneTest))
	cmd.Env = []string{"TMPDIR=" + long}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTestsJSON prints one object per test.
func TestTestsJSON(t *testing.T) {
	t.Parallel()
	out, code := playTests(t, "--json", "--timeout", "3s", writeTest(t, strings.Replace(oneTest, "250.0", "251", 1)))
	var result struct {
		Test       string
		Passed     bool
		Failures   []struct{ What, Expected, Got, Step string }
		Transcript string
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 1 {
		t.Fatalf("%d, %v\n%s", code, err, out)
	}
	if result.Test != "one" || result.Passed || len(result.Failures) != 1 ||
		!strings.Contains(result.Failures[0].Expected, "251") || !strings.Contains(result.Transcript, "#general") {
		t.Errorf("%+v", result)
	}
}
