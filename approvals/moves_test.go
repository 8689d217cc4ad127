package approvals_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

var row = regexp.MustCompile(`^\| ([a-z() ]+) \| (.+) \|$`)

// tables reads the tables of moves from the documentation, by the head of their first column.
func tables(t *testing.T) map[string]map[string][]string {
	t.Helper()
	doc, err := os.ReadFile("../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string][]string{}
	head := ""
	for line := range strings.Lines(string(doc)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
			if !strings.HasPrefix(line, "|") {
				head = ""
			}
		case m[2] == "may become":
			head = m[1]
			found[head] = map[string][]string{}
		case head != "":
			from := strings.TrimPrefix(m[1], "(new)")
			if m[2] != "–" {
				found[head][from] = strings.Split(m[2], ", ")
			} else {
				found[head][from] = nil
			}
		}
	}
	return found
}

// asDocumented turns a table of the code into the form of the documentation's, final statuses included.
func asDocumented[S ~string](moves map[S][]S) map[string][]string {
	table := map[string][]string{}
	for from, all := range moves {
		for _, to := range all {
			table[string(from)] = append(table[string(from)], string(to))
			if _, ok := moves[to]; !ok {
				table[string(to)] = nil
			}
		}
	}
	for _, all := range table {
		slices.Sort(all)
	}
	return table
}

func TestStatesAreDocumented(t *testing.T) {
	t.Parallel()
	docs := tables(t)
	for _, all := range docs {
		for _, to := range all {
			slices.Sort(to)
		}
	}
	for name, code := range map[string]map[string][]string{
		"run":     asDocumented(approvals.RunMoves),
		"request": asDocumented(approvals.RequestMoves),
		"outcome": asDocumented(approvals.OutcomeMoves),
	} {
		if diff := cmp.Diff(code, docs[name]); diff != "" {
			t.Errorf("docs/state-machine.md says something else about a %s (-code +docs):\n%s", name, diff)
		}
	}
}

// TestIllegalMovesAreRefused tries every move that the tables do not have.
func TestIllegalMovesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := []approvals.RunStatus{
		"", approvals.RunQueued, approvals.RunRunning, approvals.RunWaiting,
		approvals.RunDone, approvals.RunFailed, approvals.RunCancelled,
	}
	for _, from := range runs {
		for _, to := range runs {
			err := approvals.TryRunMove(t.Context(), b.store, ws, from, to)
			if legal := slices.Contains(approvals.RunMoves[from], to); (err == nil) != legal {
				t.Errorf("run from %q to %q: %v", from, to, err)
			}
		}
	}
	requests := []approvals.RequestStatus{
		"", approvals.RequestPending, approvals.RequestApproved, approvals.RequestRejected,
		approvals.RequestExpired, approvals.RequestCancelled, approvals.RequestStale, approvals.RequestSuperseded,
	}
	for _, from := range requests {
		for _, to := range requests {
			err := approvals.TryRequestMove(t.Context(), b.store, ws, from, to)
			if legal := slices.Contains(approvals.RequestMoves[from], to); (err == nil) != legal {
				t.Errorf("request from %q to %q: %v", from, to, err)
			}
		}
	}
	legal := 0
	for _, all := range approvals.RunMoves {
		legal += len(all)
	}
	for _, all := range approvals.RequestMoves {
		legal += len(all)
	}
	if n := len(b.trail()); n != legal {
		t.Errorf("%d moves audited, %d are legal", n, legal)
	}
}
