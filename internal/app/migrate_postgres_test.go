package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/pgdev"
)

// TestMigrateToPostgres moves the store of a bot that has worked into a database and back, with kills on the way. A bot
// works on the database in between.
func TestMigrateToPostgres(t *testing.T) {
	t.Parallel()
	faulty, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	w := newWalrus(t)
	if w.store != "" {
		t.Skip("the world begins in a database, and this test begins with a file")
	}
	to := strings.Replace(pgdev.Start(t).Database(t), "postgres@", "postgres:"+canaryStore+"@", 1)
	bot := w.start()
	w.decideOne()
	waiting := w.mention("send 6 " + canaryThread)
	card := w.card(waiting, 1)
	if code := bot.stop(); code != 0 {
		t.Fatalf("the bot ended with %d", code)
	}
	verified := w.must("audit", "verify")
	plan := w.must("migrate", "--dry-run", "bolt:countersign.db", to)
	if !strings.Contains(plan, "TO is not there") {
		t.Errorf("the plan: %s", plan)
	}
	for _, point := range []string{"transfer.before_import:2", "transfer.after_import:3", "transfer.before_finish:1"} {
		w.killedAt(faulty, point, "migrate", "bolt:countersign.db", to)
		_, complaint, code := w.with("COUNTERSIGN_STORE="+to, "run")
		if code != 2 || !strings.Contains(complaint, "half of a move") {
			t.Errorf("killed at %s, then a bot on it: %d %s", point, code, complaint)
		}
	}
	said := w.must("migrate", "bolt:countersign.db", to)
	if !strings.Contains(said, "by an earlier attempt") || strings.Contains(said, canaryStore) {
		t.Errorf("at last: %s", said)
	}
	if got, complaint, _ := w.with("COUNTERSIGN_STORE="+to, "audit", "verify"); got != verified {
		t.Errorf("audit verify says of TO\n%s%s\nand of FROM\n%s", got, complaint, verified)
	}
	w.goesOnWith(to, func() {
		if _, complaint, code := w.run("migrate", to, "bolt:early.db"); code != 1 ||
			!strings.Contains(complaint, "stop the bot first") {
			t.Errorf("while a bot runs on it: %d %s", code, complaint)
		}
		w.mustClick(ben, card, "approve")
		w.settled(card, "Approved")
		w.answer(waiting, "R-")
	})
	w.killedAt(faulty, "transfer.after_import:2", "migrate", to, "bolt:back.db")
	w.must("migrate", to, "bolt:back.db")
	there, _, _ := w.with("COUNTERSIGN_STORE="+to, "audit", "verify")
	if back, complaint, _ := w.with("COUNTERSIGN_STORE=bolt:back.db", "audit", "verify"); back != there {
		t.Errorf("audit verify says of what came back\n%s%s\nand of the database\n%s", back, complaint, there)
	}
	last := w.mentionAgain("bolt:back.db")
	if !strings.Contains(last, "R-") {
		t.Errorf("the bot on what came back says %q", last)
	}
}

// killedAt runs a command with a program that stops at a point, and kills it there.
func (w *world) killedAt(faulty, point string, args ...string) {
	w.t.Helper()
	p := w.spawn(faulty, w.env("COUNTERSIGN_FAULT="+point), args...)
	select {
	case <-p.reach:
		p.kill()
	case <-p.exited:
		w.t.Fatalf("%s was not reached:\n%s", point, p.out.String())
	case <-time.After(patience):
		w.t.Fatalf("%s: neither reached nor done", point)
	}
}

// mentionAgain has a bot on a store answer a call that is approved, and returns what it said.
func (w *world) mentionAgain(url string) (said string) {
	w.t.Helper()
	w.goesOnWith(url, func() {
		thread := w.mention("send 7 " + canaryThread)
		card := w.card(thread, 1)
		w.mustClick(ben, card, "approve")
		w.settled(card, "Approved")
		w.answer(thread, "R-")
		said = strings.Join(w.said(thread), "\n")
	})
	return said
}
