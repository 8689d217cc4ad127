package app_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLostResults: a command whose standard output is a closed pipe or a full disk fails with a line, and is not ended
// by a signal. What it has changed stays changed.
func TestLostResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	id := w.pending()
	for _, args := range [][]string{
		{"approvals", "list"}, {"approvals", "list", "--json"}, {"approvals", "show", id}, {"runs", "list"},
		{"audit", "verify"}, {"audit", "export", "--json"}, {"approvals", "export"}, {"check", "--offline"},
		{"version"}, {"run", "--help"}, {"approvals", "decide", id, "--reject", "--as", ben},
	} {
		w.losing(closedPipe(t), args...)
		if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
			w.losing(full, args...)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.answer(thread, "not approved")
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// losing runs a command whose standard output is lost.
func (w *world) losing(to *os.File, args ...string) {
	w.t.Helper()
	defer to.Close()
	cmd := exec.CommandContext(w.ctx, cli(w.t), args...)
	cmd.Dir, cmd.Env, cmd.Stdout = w.dir, w.env(), to
	var complaint output
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	w.outputs = append(w.outputs, complaint.String)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(complaint.String(), "countersign: ") {
		w.t.Errorf("%q: exit code %d (%s)\n%s", args, code, cmd.ProcessState, complaint.String())
	}
}

// closedPipe is a pipe that nobody reads.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	r, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	return to
}
