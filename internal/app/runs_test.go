package app_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// lastRun returns what `runs list` says of the newest run.
func (w *world) lastRun() (run struct {
	ID, Status string
	RetryOf    string `json:"retry_of"`
}) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.must("runs", "list", "--limit", "1", "--json")), &run); err != nil {
		w.t.Fatal(err)
	}
	return run
}

// TestRuns lists, shows, cancels and retries runs by command: with a running bot, which goes on with what was started
// again, and without one.
func TestRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	first := w.lastRun()
	if _, complaint, code := w.run("runs", "cancel", first.ID, "--as", gus); code != 1 ||
		!strings.Contains(complaint, "not authorized") {
		t.Errorf("a guest cancels: %d %s", code, complaint)
	}
	out := w.must("runs", "cancel", first.ID, "--as", ben, "--reason", "wrong month")
	if !strings.HasPrefix(out, first.ID+" is cancelled. The run was cancelled: \"wrong month\".") {
		t.Errorf("cancel says %q", out)
	}
	w.answer(thread, `cancelled the run: "wrong month".`)
	if _, complaint, code := w.run("runs", "cancel", first.ID, "--as", ben); code != 1 ||
		!strings.Contains(complaint, "run has ended: it is cancelled by "+ben) {
		t.Errorf("cancelled again: %d %s", code, complaint)
	}
	if out := w.must("runs", "retry", first.ID, "--as", ben); !strings.Contains(out, " is started again as run_") {
		t.Errorf("retry says %q", out)
	}
	w.answer(thread, "started the run again that was cancelled")
	second := w.lastRun()
	if second.RetryOf != first.ID {
		t.Fatalf("the newest run is %+v", second)
	}
	if _, complaint, code := w.run("runs", "retry", first.ID, "--as", ben); code != 1 ||
		!strings.Contains(complaint, "started again before: it goes on as "+second.ID) {
		t.Errorf("retried again: %d %s", code, complaint)
	}
	w.card(thread, 2) // people are asked again

	if seen := w.ephemeral(ann, "history"); !strings.Contains(seen, "Cancelled by") ||
		!strings.Contains(seen, "not run") {
		t.Errorf("/approvals history: %s", seen)
	}
	if seen := w.ephemeral(gus, "history all"); !strings.Contains(seen, "Nothing was decided yet that you may see") {
		t.Errorf("a guest sees %s", seen)
	}
	bot.stop()
	if got := w.lastRun(); got.ID != second.ID || got.Status != "waiting" {
		t.Errorf("without a bot: %+v", got)
	}
	w.must("runs", "cancel", second.ID, "--as", ben)
	if _, complaint, code := w.run("runs", "retry", second.ID, "--as", gus); code != 1 ||
		!strings.Contains(complaint, "not authorized") {
		t.Errorf("a guest retries: %d %s", code, complaint)
	}
	w.must("runs", "retry", second.ID, "--as", cleo)
	for flags, want := range map[string]string{
		"": "3\n", "--status cancelled": "2\n", "--status queued": "1\n", "--person " + cleo: "1\n",
		"--until 1h": "0\n",
	} {
		if got := w.must(append([]string{"runs", "list", "--count"}, strings.Fields(flags)...)...); got != want {
			t.Errorf("--count %s: %q, want %q", flags, got, want)
		}
	}
	if out := w.must("runs", "show", first.ID); !strings.Contains(out, "\nstatus       cancelled by "+ben) ||
		!strings.Contains(out, "\nwhy          The run was cancelled: \"wrong month\".") ||
		!strings.Contains(out, "approval of pay: cancelled by "+ben) ||
		!strings.Contains(out, "\ninput        pay 5\n") {
		t.Errorf("show:\n%s", out)
	}
	bot = w.start()
	w.mustClick(ben, w.card(thread, 3), "approve")
	w.answer(thread, "R-1")
	bot.stop()
	w.verified()
}
