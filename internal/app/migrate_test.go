package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrateKilled moves the store of a bot that has worked, and kills the program on the way: what is half refuses to
// be opened, the same command again goes on, and a bot goes on with what was moved.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	faulty, err := binaries.faultyCommand()
	if err != nil {
		t.Fatal(err)
	}
	w := newWalrus(t)
	if w.store != "" {
		t.Skip("the world is in a database, and this test is about files")
	}
	bot := w.start()
	w.decideOne()
	waiting := w.mention("send 6 " + canaryThread)
	card := w.card(waiting, 1)
	if _, complaint, code := w.run("migrate", "bolt:countersign.db", "bolt:to.db"); code != 1 ||
		!strings.Contains(complaint, "stop the bot first") {
		t.Errorf("while the bot runs: %d %s", code, complaint)
	}
	if code := bot.stop(); code != 0 {
		t.Fatalf("the bot ended with %d", code)
	}
	before := w.read("countersign.db")
	plan := w.must("migrate", "--dry-run", "bolt:countersign.db", "bolt:to.db")
	if !strings.Contains(plan, "Nothing was changed.") || !strings.Contains(plan, "TO is not there") {
		t.Errorf("the plan: %s", plan)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "to.db")); err == nil {
		t.Error("--dry-run has made TO")
	}
	for i, point := range []string{
		"transfer.before_import:1", "transfer.after_import:1", "transfer.before_import:3", "transfer.after_import:4",
		"transfer.before_finish:1",
	} {
		w.killedAt(faulty, point, "migrate", "bolt:countersign.db", "bolt:to.db")
		for _, args := range [][]string{{"run"}, {"audit", "verify"}, {"compact"}} {
			_, complaint, code := w.with("COUNTERSIGN_STORE=bolt:to.db", args...)
			if code != 2 || !strings.Contains(complaint, "half of a move") ||
				!strings.Contains(complaint, `run the same "countersign migrate" again`) {
				t.Errorf("killed at %s, then %s: %d %s", point, args, code, complaint)
			}
		}
		if i == 0 {
			if _, complaint, code := w.run("migrate", "bolt:to.db", "bolt:back.db"); code != 2 ||
				!strings.Contains(complaint, "half of a move") {
				t.Errorf("out of the half: %d %s", code, complaint)
			}
		}
	}
	plan = w.must("migrate", "--dry-run", "bolt:countersign.db", "bolt:to.db")
	if !strings.Contains(plan, "what is left is to compare") {
		t.Errorf("the plan at the end: %s", plan)
	}
	said := w.must("migrate", "bolt:countersign.db", "bolt:to.db")
	if !strings.Contains(said, "by an earlier attempt") || !strings.Contains(said, "record for record") {
		t.Errorf("at last: %s", said)
	}
	if w.read("countersign.db") != before {
		t.Error("FROM has changed")
	}
	if _, complaint, code := w.run("migrate", "bolt:countersign.db", "bolt:to.db"); code != 2 ||
		!strings.Contains(complaint, "not empty") {
		t.Errorf("once more: %d %s", code, complaint)
	}
	verified := w.must("audit", "verify")
	if got, _, _ := w.with("COUNTERSIGN_STORE=bolt:to.db", "audit", "verify"); got != verified {
		t.Errorf("audit verify says of TO\n%s\nand of FROM\n%s", got, verified)
	}
	w.goesOnWith("bolt:to.db", func() {
		w.mustClick(ben, card, "approve")
		w.settled(card, "Approved")
		w.answer(waiting, "R-")
	})
}

// goesOnWith starts a bot on another store and has it do something.
func (w *world) goesOnWith(url string, do func()) {
	w.t.Helper()
	w.extra = append(w.extra, "COUNTERSIGN_STORE="+url)
	defer func() { w.extra = w.extra[:len(w.extra)-1] }()
	bot := w.start()
	do()
	if code := bot.stop(); code != 0 {
		w.t.Errorf("the bot on %s ended with %d", url, code)
	}
	w.verified()
}

// TestMigrateKeys moves a plain store into an encrypted one, from there under another key, and into a plain one.
func TestMigrateKeys(t *testing.T) {
	t.Parallel()
	w := newWalrus(t)
	if w.store != "" {
		t.Skip("the world is in a database, and this test is about files")
	}
	bot := w.start()
	w.decideOne()
	if code := bot.stop(); code != 0 {
		t.Fatalf("the bot ended with %d", code)
	}
	head := w.must("audit", "verify")
	for _, c := range []struct {
		from, to, keys, open string
		plain, shown         bool
	}{
		{"countersign.db", "a.db", "a:" + keyA, "a:" + keyA, false, false},
		{"a.db", "b.db", "b:" + keyB + ",a:" + keyA, "b:" + keyB, false, false},
		{"b.db", "plain.db", "b:" + keyB, "", true, true},
	} {
		args := []string{"migrate", "bolt:" + c.from, "bolt:" + c.to}
		if c.plain {
			args = append(args, "--plain")
		}
		if out, complaint, code := w.with(keysVariable(c.keys), args...); code != 0 {
			t.Fatalf("%s to %s: %d\n%s%s", c.from, c.to, code, out, complaint)
		}
		if found := w.shownIn(c.to); (len(found) > 0) != c.shown {
			t.Errorf("%s shows %q", c.to, found)
		}
		w.extra = append(w.extra, keysVariable(c.open))
		if got, _, _ := w.with("COUNTERSIGN_STORE=bolt:"+c.to, "audit", "verify"); got != head {
			t.Errorf("audit verify of %s says %s, want %s", c.to, got, head)
		}
		w.extra = w.extra[:len(w.extra)-1]
	}
	if _, complaint, code := w.run("migrate", "bolt:a.db", "bolt:c.db"); code != 2 ||
		!strings.Contains(complaint, "no key with the id a is given") {
		t.Errorf("without the key: %d %s", code, complaint)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "c.db")); err == nil {
		t.Error("it made TO all the same")
	}
	for i, args := range [][]string{{"bolt:plain.db"}, {"bolt:plain.db", "bolt:" + w.dir + "/plain.db"},
		{"plain.db", "bolt:x.db"}, {"bolt:plain.db", "mysql://u:hunter2@h/d"}, {"bolt:none.db", "bolt:x.db"}} {
		_, complaint, code := w.run(append([]string{"migrate"}, args...)...)
		if code != 2 || strings.Contains(complaint, "hunter2") {
			t.Errorf("%s: %d %s", fmt.Sprint(i, args), code, complaint)
		}
	}
}
