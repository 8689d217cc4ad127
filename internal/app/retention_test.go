package app_test

import (
	"strings"
	"syscall"
	"testing"
)

// TestRetention begins to delete when the agents file is read again: the run and its request are gone, what waits is
// not, and the trail holds.
func TestRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	paid := w.mention("pay 5")
	w.mustClick(ben, w.card(paid, 1), "approve")
	w.answer(paid, "R-1")
	waiting := w.mention("pay 6")
	card := w.card(waiting, 1)
	if out := w.must("check", "--offline"); !strings.Contains(out, "kept        everything, for ever\n") {
		t.Errorf("check:\n%s", out)
	}
	w.write("countersign.yaml", w.read("countersign.yaml")+
		"retention: { runs: 1s, requests: 1s, sessions: 1s, events: 1h }\n")
	if out := w.must("check", "--offline"); !strings.Contains(out,
		"kept        runs 1s, requests 1s, sessions 1s, events 1h; the audit trail and grants for ever\n") {
		t.Errorf("check:\n%s", out)
	}
	bot.signal(syscall.SIGHUP)
	trail := func(action string) int { return strings.Count(w.must("audit", "export", "--json"), `"`+action+`"`) }
	bot.says("deleted what is older than the retention\" workspace=T0DEV runs=1") // the request was settled before
	for _, action := range []string{"run.deleted", "request.deleted"} {
		if n := trail(action); n != 1 {
			t.Errorf("%d entries %s in the trail", n, action)
		}
	}
	if out := w.must("approvals", "list", "--status", "all", "--json"); strings.Count(out, "\n") != 1 {
		t.Errorf("left:\n%s", out)
	}
	w.verified()
	w.mustClick(ben, card, "approve")
	w.answer(waiting, "R-2")
	bot.stop()
	w.verified()
}
