package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/pgdev"
	"countersign/store"
)

// TestMigrateToPostgres moves the store of a bot that has worked into a database and back, with kills on the way. A bot
// works on the database in between.
func TestMigrateToPostgres(t *testing.T) {
	t.Parallel()
	faulty, err := binaries.faultyCommand()
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

// TestMigrateAskedNobody: a database that is away is not taken for one without a store, though the socket of its server
// is a file that is not there; and one without a store is no file.
func TestMigrateAskedNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	from := "bolt:" + filepath.Join(w.dir, "from.db")
	st, err := store.Open(t.Context(), from, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	away := "postgres://bot@localhost/bots?host=" + filepath.Join(w.dir, "absent")
	nobody := ": open PostgreSQL store: " + filepath.Join(w.dir, "absent") + ":5432: nobody answers"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{away, "bolt:to.db"}, 1, "migrate: FROM" + nobody},
		{[]string{"--dry-run", from, away}, 1, "migrate: TO" + nobody},
		{[]string{w.store, "bolt:to.db"}, 2, "migrate: FROM: there is no store in PostgreSQL at "},
	} {
		out, complaint, code := w.run(append([]string{"migrate"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(complaint, c.want) {
			t.Errorf("%q: %d\n%s%s", c.args, code, out, complaint)
		}
	}
	if out := w.must("migrate", "--dry-run", from, w.store); !strings.Contains(out, "TO is not there and would be") {
		t.Errorf("the control: %s", out)
	}
}
