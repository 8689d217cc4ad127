package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestore is a drill: a backup is made while the bot works, the bot is killed, its store is lost, the backup is put
// in its place, and the bot goes on from there.
func TestRestore(t *testing.T) {
	fileOnly(t, "a database is restored with pg_restore")
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	w.must("backup", "copy.db")
	if _, complaint, code := w.run("restore", "--force", "copy.db"); code != 1 ||
		!strings.Contains(complaint, "a bot runs on countersign.db; stop it first") {
		t.Errorf("restore beside a bot: %d\n%s", code, complaint)
	}
	bot.kill()
	if err := os.Remove(filepath.Join(w.dir, "countersign.db")); err != nil {
		t.Fatal(err)
	}
	out := w.must("restore", "copy.db")
	for _, want := range []string{"countersign.db is as copy.db has it: ", " audit entries verified, the newest of 20",
		"  1 request waits for people, also if it was answered since\n",
		"Signed checkpoints that were kept since will not agree with it"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
	w.verified()
	w.start()
	w.mustClick(ben, card, "approve")
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.verified()
}

// TestRestoreOverAStore replaces a store only when it is told to, keeps the file that was there, and takes no backup
// that does not hold up. A head that was kept shows afterwards that the store is an older one.
func TestRestoreOverAStore(t *testing.T) {
	fileOnly(t, "a database is restored with pg_restore")
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	w.must("backup", "copy.db")
	w.must("approvals", "decide", w.pending(), "--approve", "--as", ben)
	w.answer(thread, "R-1")
	bot.stop()
	var report struct{ Workspaces []struct{ Head string } }
	if err := json.Unmarshal([]byte(w.must("audit", "verify", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	before := w.read("countersign.db")
	copied := w.read("copy.db")
	if !strings.Contains(copied, "pay 5") {
		t.Fatal("control: the backup does not hold what was asked")
	}
	w.write("half.db", copied[:len(copied)/2])
	w.write("changed.db", strings.ReplaceAll(copied, "pay 5", "pay 6")) // the first may lie in a free page
	w.write("text.db", "no store\n")
	for file, want := range map[string]string{
		"copy.db":         "there is a store at countersign.db; --force replaces it and keeps its file",
		"half.db --force": "half.db is not taken: ", "changed.db --force": "changed.db is not taken: ",
		"text.db --force": "text.db is not taken: ", "countersign.db --force": "countersign.db is the store itself",
	} {
		_, complaint, code := w.run(append([]string{"restore"}, strings.Fields(file)...)...)
		if code == 0 || !strings.Contains(complaint, want) {
			t.Errorf("restore %s: %d\n%s", file, code, complaint)
		}
		if w.read("countersign.db") != before {
			t.Fatalf("restore %s has changed the store", file)
		}
	}
	out := w.must("restore", "--force", "copy.db")
	kept, err := filepath.Glob(filepath.Join(w.dir, "countersign.db.before-restore-*"))
	if err != nil || len(kept) != 1 ||
		!strings.Contains(out, "The file that was there is kept: countersign.db.before-restore-") {
		t.Fatalf("%q, %v\n%s", kept, err, out)
	}
	if got := w.read(filepath.Base(kept[0])); got != before {
		t.Error("the file that was kept is another one")
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".*restore*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	w.verified()
	if out, _, code := w.run("audit", "verify", "--head", report.Workspaces[0].Head); code != 1 ||
		!strings.Contains(out, "does not go on from what was verified then") {
		t.Errorf("the head of the newer store: %d\n%s", code, out)
	}
}
