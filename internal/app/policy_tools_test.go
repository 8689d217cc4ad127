package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicySimulate replays what people were asked: through the running bot and, once it has stopped, from the file.
func TestPolicySimulate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	for i, text := range []string{"pay 5", "pay 500"} {
		thread := w.mention(text)
		w.mustClick(ben, w.card(thread, 1), "approve")
		w.answer(thread, fmt.Sprintf("R-%d", i+1))
	}
	w.write("changed.yaml", fmt.Sprintf(strings.Replace(agentsYAML, "args.amount > 1\n", "args.amount > 100\n", 1),
		"default_policy: { approvers: { users: [U0BEN, U0CLEO] }, quorum: 2 }\n"))
	running := w.must("policy", "simulate", "--since", "1h", "--file", "changed.yaml")
	for _, want := range []string{"2 requests asked since", "1  would be asked", "1  would run without asking",
		"quorum 1 person → 2 people", "people were asked → runs without asking", "U0CLEO", "0       1"} {
		if !strings.Contains(running, want) {
			t.Errorf("want %q in:\n%s", want, running)
		}
	}
	bot.stop()
	args := []string{"policy", "simulate", "--since", "2020-01-01T00:00:00Z", "--file", "changed.yaml", "--json"}
	lines := strings.Split(strings.TrimSpace(w.must(args...)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	var last struct {
		Summary struct{ Requests, Same int }
	}
	err := json.Unmarshal([]byte(lines[2]), &last)
	if err != nil || last.Summary.Requests != 2 || last.Summary.Same != 0 {
		t.Errorf("%+v, %v", last, err)
	}
	suggested := w.must("policy", "suggest", "--since", "1h")
	if want := "pay of ops: people approved 2 calls on 1 days; a suggestion needs 20 on 3 days"; !strings.Contains(
		suggested, want) {
		t.Errorf("want %q in:\n%s", want, suggested)
	}
	w.verified()
}

// TestPolicyCasesOfTheDocs tries the cases that docs/policy-tools.md shows on the example that they are for.
func TestPolicyCasesOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	example, err := filepath.Abs(filepath.Join("..", "..", "examples", "countersign.yaml"))
	if err != nil || !found || !closed {
		t.Fatalf("no cases: %v", err)
	}
	w := newWorld(t, settings{})
	w.write("cases.yaml", text)
	if out := w.must("policy", "test", "cases.yaml", "--agents", example); out != "3 cases, all as expected\n" {
		t.Error(out)
	}
}

// TestPolicyTest needs none of the environment that the agents file names, and its exit code says how it went.
func TestPolicyTest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: largeFirst})
	w.extra = append(w.extra, "EFFECTS_URL=", "EFFECTS_TOKEN=")
	head := "version: 1\nenvironment: { EFFECTS_URL: \"http://127.0.0.1:9\", EFFECTS_TOKEN: none }\ncases:\n"
	pay := func(name string, amount int, expect string) string {
		const form = "  - { name: %s, tool: pay, arguments: { amount: %d }, expect: { %s } }\n"
		return fmt.Sprintf(form, name, amount, expect)
	}
	for _, c := range []struct {
		why, cases, out string
		code            int
	}{
		{"all as expected", head + pay("small", 1, "asked: false") + pay("large", 101, "policy: large, quorum: 2"),
			"2 cases, all as expected", 0},
		{"one is not", head + pay("small", 1, "asked: true") + pay("large", 101, "policy: large"),
			"cases.yaml:4: small\n  the call: expected people are asked, got runs without asking\n" +
				"2 cases, 1 not as expected", 1},
		{"nothing is set", "version: 1\ncases:\n" + pay("small", 1, "asked: false"),
			"may have a value under `environment` in cases.yaml", 2},
		{"a wrong file", head + pay("small", 1, "askd: true"), `did you mean "asked"?`, 2},
		{"no cases", "version: 1\ncases: []\n", "the file has no cases", 2},
	} {
		w.write("cases.yaml", c.cases)
		stdout, stderr, code := w.run("policy", "test", "cases.yaml")
		if code != c.code || !strings.Contains(stdout+stderr, c.out) {
			t.Errorf("%s: exit code %d, want %q in:\n%s%s", c.why, code, c.out, stdout, stderr)
		}
	}
}
