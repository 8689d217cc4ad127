package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// full takes so many bytes and no more.
type full struct{ left int }

var errFull = errors.New("the disk is full")

func (f *full) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	if f.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestLostResults: a command whose results cannot be written has failed, and says so, also where the library prints.
func TestLostResults(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version", "version --json", "--version", "--help", "approvals decide --help",
		"help approvals", "completion bash", "check --schema"} {
		for _, room := range []int{0, 3} {
			var complaint strings.Builder
			code := Main(t.Context(), Program{Args: strings.Fields(args), Stdout: &full{room}, Stderr: &complaint})
			const want = "countersign: the results were lost on the way: the disk is full; " +
				"what the command has changed stays changed\n"
			if code != exitFailed || complaint.String() != want {
				t.Errorf("%s, with room for %d bytes: %d %q", args, room, code, complaint.String())
			}
		}
		var complaint strings.Builder // the control
		code := Main(t.Context(), Program{Args: strings.Fields(args), Stdout: io.Discard, Stderr: &complaint})
		if code != exitDone || complaint.Len() > 0 {
			t.Errorf("%s: %d %q", args, code, complaint.String())
		}
	}
}

// TestLostResultsOfAFailure: what went wrong before is said too, and an error keeps its exit code.
func TestLostResultsOfAFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "lost on the way"}, {errSilent, "lost on the way"}, {errors.New("no such run"), "no such run"},
	} {
		out := &results{w: &full{}}
		if _, err := io.WriteString(out, "x"); !errors.Is(err, errFull) {
			t.Errorf("the command is told %v", err)
		}
		var complaint strings.Builder
		p := &Program{Stderr: &complaint}
		if code := p.report(out.judge(c.err)); code != exitFailed || !strings.Contains(complaint.String(), c.want) ||
			!strings.Contains(complaint.String(), "lost on the way: the disk is full") {
			t.Errorf("after %v: %d %q", c.err, code, complaint.String())
		}
	}
}
