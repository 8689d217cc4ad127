package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// ruleGroups are the rules of human-in-the-loop approval: how many there are under each letter. Realtime sessions (L)
// are not here yet, and N is a table that repeats others.
var ruleGroups = map[string]int{
	"A": 19, "B": 9, "C": 12, "D": 17, "E": 13, "F": 16, "G": 8, "H": 29, "I": 10, "J": 7, "K": 14, "M": 20, "O": 8,
}

// knownBugs are bugs of the SDKs, as people reported them, that a dialogue proves not to be here.
var knownBugs = []string{
	"2", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16", "17", "19", "21", "24", "25", "29", "30",
	"31", "33", "34", "35", "36",
}

const minDialogues = 150

// TestRules checks that every rule is named by a dialogue, proved by a Go test, or does not apply for a stated reason.
func TestRules(t *testing.T) {
	t.Parallel()
	claims := dialogueClaims(t)
	data, err := os.ReadFile("testdata/rules.txt")
	must(t, err)
	for _, problem := range uncovered(claims, string(data), goTests(t)) {
		t.Error(problem)
	}
	if len(claims) < minDialogues {
		t.Errorf("%d dialogues, want at least %d", len(claims), minDialogues)
	}
}

// TestRulesControl proves that TestRules can fail, in each of its ways.
func TestRulesControl(t *testing.T) {
	t.Parallel()
	claims, tests := dialogueClaims(t), goTests(t)
	data, err := os.ReadFile("testdata/rules.txt")
	must(t, err)
	rules := string(data)
	without := make(map[string]string)
	for file, claim := range claims {
		without[file] = strings.NewReplacer("H19", "H18", "bug 8:", "bug 9:").Replace(claim)
	}
	for _, tt := range []struct {
		why    string
		claims map[string]string
		rules  string
		want   string
	}{
		{"a rule that no dialogue names", without, rules, "H19 has"},
		{"a bug that no dialogue names", without, rules, "bug 8 has"},
		{"a rule that lost its reason", claims, strings.Replace(rules, "A2\t", "# ", 1), "A2 has"},
		{"a reason that is not needed", claims, rules + "A1\tIt does not apply to anything here.\n", "A1: a dialogue"},
		{"a reason twice", claims, rules + "A2\tIt does not apply to anything here.\n", "A2: two"},
		{"a reason for a rule that there is not",
			claims, rules + "A20\tIt does not apply to anything here.\n", "A20: there is no"},
		{"a reason that says nothing", claims, rules + "A1\tno\n", "A1: say why"},
		{"a test that there is not", claims, strings.Replace(rules, "TestParallel:", "TestSerial:", 1), "TestSerial"},
		{"a dialogue about a rule that there is not", map[string]string{"x": "hitl Z1: it is so."}, rules, "Z1"},
	} {
		problems := strings.Join(uncovered(tt.claims, tt.rules, tests), "\n")
		if !strings.Contains(problems, tt.want) {
			t.Errorf("%s: nobody noticed; got %q", tt.why, problems)
		}
	}
}

// dialogueClaims returns what each dialogue says that it proves.
func dialogueClaims(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/dialogues/*.txtar")
	must(t, err)
	claims := make(map[string]string, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		claims[filepath.Base(file)] = strings.ReplaceAll(string(txtar.Parse(data).Comment), "\n", " ")
	}
	return claims
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// goTests returns the names of this package's tests.
func goTests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	names := make(map[string]bool)
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		for _, m := range testFunc.FindAllSubmatch(data, -1) {
			names[string(m[1])] = true
		}
	}
	return names
}

var (
	claimed = regexp.MustCompile(`^hitl ([^:]*):`)
	ruleID  = regexp.MustCompile(`\b[A-Z]\d+\b`)
	bugID   = regexp.MustCompile(`\bsection 4 bug (\d+)\b`)
	other   = regexp.MustCompile(`\binvariant I\d+`) // of another list
)

// uncovered returns what is wrong between the rules, what dialogues claim to prove and the reasons for the rest.
func uncovered(claims map[string]string, reasons string, tests map[string]bool) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	isRule := func(id string) bool {
		for n := 1; n <= ruleGroups[id[:1]]; n++ {
			if id == fmt.Sprint(id[:1], n) {
				return true
			}
		}
		return false
	}
	named := make(map[string]bool)
	for file, claim := range claims {
		m := claimed.FindStringSubmatch(claim)
		if m == nil {
			continue // it proves something beyond the rules
		}
		for _, id := range ruleID.FindAllString(other.ReplaceAllString(m[1], ""), -1) {
			if named[id] = true; !isRule(id) {
				complain("%s: there is no rule %s", file, id)
			}
		}
		for _, bug := range bugID.FindAllStringSubmatch(m[1], -1) {
			named["bug "+bug[1]] = true
		}
	}
	excused := make(map[string]bool)
	for line := range strings.Lines(reasons) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(strings.TrimSpace(line), "\t")
		test, _, isTest := strings.Cut(reason, ":")
		switch {
		case !ruleID.MatchString(id) || !isRule(id):
			complain("%s: there is no such rule", id)
		case len(reason) < 20:
			complain("%s: say why no dialogue names it", id)
		case named[id]:
			complain("%s: a dialogue names it; the reason is not needed", id)
		case excused[id]:
			complain("%s: two reasons", id)
		case isTest && strings.HasPrefix(test, "Test") && !tests[test]:
			complain("%s: there is no test %s", id, test)
		}
		excused[id] = true
	}
	for group, n := range ruleGroups {
		for i := range n {
			if id := fmt.Sprint(group, i+1); !named[id] && !excused[id] {
				complain("%s has neither a dialogue nor a reason", id)
			}
		}
	}
	for _, bug := range knownBugs {
		if !named["bug "+bug] {
			complain("bug %s has no dialogue", bug)
		}
	}
	return problems
}
