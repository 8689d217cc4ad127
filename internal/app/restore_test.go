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
	next := w.start()
	w.mustClick(ben, card, "approve")
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.judged(next)
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
		if strings.Contains(complaint, ".countersign-new-") || strings.Contains(complaint, "in its place") {
			t.Errorf("restore %s names its copy, which is gone, or tells to put another one there by hand:\n%s", file,
				complaint)
		}
		if file == "half.db --force" && !strings.Contains(complaint, "; take another backup\n") {
			t.Errorf("restore %s does not say what to do:\n%s", file, complaint)
		}
		if w.read("countersign.db") != before {
			t.Fatalf("restore %s has changed the store", file)
		}
	}
	w.extra = append(w.extra, keysVariable("a:"+strings.Repeat("A", 43)+"="))
	if _, complaint, code := w.run("restore", "--force", "copy.db"); code != 2 || !strings.Contains(complaint,
		"copy.db is not taken: it is not encrypted, although COUNTERSIGN_ENCRYPTION_KEYS is set: restore it without "+
			"that variable, then run \"countersign compact\" with it, which encrypts all of it\n") {
		t.Errorf("restore of a plain file with keys: %d\n%s", code, complaint)
	}
	w.extra = w.extra[:len(w.extra)-1]
	w.write(".countersign-new-123", "what a restore has left behind that was killed")
	out := w.must("restore", "--force", "copy.db")
	kept, err := filepath.Glob(filepath.Join(w.dir, "countersign.db.before-restore-*"))
	if err != nil || len(kept) != 1 ||
		!strings.Contains(out, "The file that was there is kept: countersign.db.before-restore-") {
		t.Fatalf("%q, %v\n%s", kept, err, out)
	}
	if got := w.read(filepath.Base(kept[0])); got != before {
		t.Error("the file that was kept is another one")
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	w.verified()
	if out, _, code := w.run("audit", "verify", "--head", report.Workspaces[0].Head); code != 1 ||
		!strings.Contains(out, "does not go on from what was verified then") {
		t.Errorf("the head of the newer store: %d\n%s", code, out)
	}
}

// TestNothingToBringIn: a file that is not there is named, with what to do, in one line; nothing is made of it.
func TestNothingToBringIn(t *testing.T) {
	fileOnly(t, "it is about files")
	t.Parallel()
	w := newWorld(t, settings{})
	if err := os.Mkdir(filepath.Join(w.dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("there.db", "")
	before := w.names()
	const name = `; name a file that "countersign backup" has made`
	const from = "; FROM is the store to move, as COUNTERSIGN_STORE names it for the bot"
	for _, c := range []struct{ args, want string }{
		{"restore absent.db", "restore: there is no file absent.db" + name},
		{"restore --force absent/x.db", "restore: there is no file absent/x.db" + name},
		{"restore folder", "restore: folder is no regular file" + name},
		{"migrate bolt:absent.db bolt:to.db", "migrate: FROM: there is no file absent.db" + from},
		{"migrate bolt:absent/x.db bolt:to.db", "migrate: FROM: there is no file absent/x.db" + from},
		{"migrate --dry-run bolt:absent.db bolt:to.db", "migrate: FROM: there is no file absent.db" + from},
		{"migrate bolt:folder bolt:to.db", "migrate: FROM: open store folder: not a store file: it is a folder, " +
			"no regular file; name a file in it, such as folder/countersign.db"},
	} {
		out, complaint, code := w.run(strings.Fields(c.args)...)
		if code != 2 || out != "" || complaint != "countersign: "+c.want+"\n" {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, complaint)
		}
	}
	if got := w.names(); got != before {
		t.Errorf("left behind: %s, before: %s", got, before)
	}
}

// TestRestoreByALink: where COUNTERSIGN_STORE is a symbolic link to a disk, and the disk is a new one, the backup comes
// to where the link leads, and the link stays.
func TestRestoreByALink(t *testing.T) {
	fileOnly(t, "it is about files")
	t.Parallel()
	w := newWorld(t, settings{})
	if err := w.openFile().Close(); err != nil {
		t.Fatal(err)
	}
	w.must("backup", "copy.db")
	for _, err := range []error{
		os.Mkdir(filepath.Join(w.dir, "disk"), 0o700),
		os.Symlink(filepath.Join("disk", "real.db"), filepath.Join(w.dir, "link.db")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"restore copy.db", "restore --force copy.db", "audit verify"} {
		out, complaint, code := w.with("COUNTERSIGN_STORE=bolt:link.db", strings.Fields(args)...)
		if code != 0 {
			t.Errorf("%s: %d\n%s%s", args, code, out, complaint)
		}
	}
	// A file keeps its disk, so that what was there stays beside what is there now, and not beside the link. Each
	// restore keeps its own, however soon it comes.
	for range 3 {
		out, complaint, code := w.with("COUNTERSIGN_STORE=bolt:link.db", "restore", "--force", "copy.db")
		if code != 0 || !strings.Contains(out, "is kept: disk/real.db.before-restore-") &&
			!strings.Contains(out, filepath.Join(w.dir, "disk", "real.db.before-restore-")) {
			t.Errorf("%d\n%s%s", code, out, complaint)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(w.dir, "disk", "real.db.before-restore-*")); len(kept) != 4 {
		t.Errorf("kept are %q, %v", kept, err)
	}
	if info, err := os.Lstat(filepath.Join(w.dir, "disk", "real.db")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("where the link leads: %v, %v", info, err)
	}
}

// TestSameStore: a store is not moved into itself, by whatever name, and URLs that name no store are told as such, and
// not taken for the same one.
func TestSameStore(t *testing.T) {
	fileOnly(t, "it is about files")
	t.Parallel()
	w := newWorld(t, settings{})
	if err := w.openFile().Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink("countersign.db", filepath.Join(w.dir, "link.db")),
		os.Link(filepath.Join(w.dir, "countersign.db"), filepath.Join(w.dir, "name.db")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := w.names()
	const itself = "countersign: FROM and TO are the same store\n"
	const unusable = ": unusable store URL: it has no scheme: use bolt:PATH"
	for _, c := range []struct{ args, want string }{
		{"migrate bolt:countersign.db bolt:./countersign.db", itself},
		{"migrate bolt:countersign.db bolt:link.db", itself},
		{"migrate bolt:countersign.db bolt:name.db", itself},
		{"migrate --dry-run bolt:link.db bolt:countersign.db", itself},
		{"migrate countersign.db to.db", "countersign: migrate: FROM" + unusable},
		{"migrate bolt:countersign.db to.db", "countersign: migrate: TO" + unusable},
	} {
		out, complaint, code := w.run(strings.Fields(c.args)...)
		if code != 2 || out != "" || !strings.HasPrefix(complaint, c.want) {
			t.Errorf("%s: %d\n%s%s", c.args, code, out, complaint)
		}
	}
	if got := w.names(); got != before {
		t.Errorf("left behind: %s, before: %s", got, before)
	}
}

// TestNowhereToBringIt: a destination in a folder that is not there ends the command before anything is done.
func TestNowhereToBringIt(t *testing.T) {
	fileOnly(t, "it is about files")
	t.Parallel()
	w := newWorld(t, settings{})
	if err := w.openFile().Close(); err != nil {
		t.Fatal(err)
	}
	w.must("backup", "copy.db")
	before := w.names()
	for _, args := range []string{
		"migrate bolt:countersign.db bolt:absent/to.db", "migrate --dry-run bolt:countersign.db bolt:absent/to.db",
		"restore copy.db", "restore --force copy.db",
	} {
		out, complaint, code := w.with("COUNTERSIGN_STORE=bolt:absent/x.db", strings.Fields(args)...)
		if code != 2 || out != "" || !strings.Contains(complaint, "the folder absent is not there; create it first") {
			t.Errorf("%s: %d\n%s%s", args, code, out, complaint)
		}
	}
	if got := w.names(); got != before {
		t.Errorf("left behind: %s, before: %s", got, before)
	}
}

// names lists what is in the world's folder.
func (w *world) names() string {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
