package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/pgdev"
)

// TestRestoreDrill runs deploy/restore-drill beside a bot that works, as an operator does. It says that the restore
// holds; controls are a backup that was cut off, and a head that the backup does not have.
func TestRestoreDrill(t *testing.T) {
	if !*long {
		t.Skip("with -long: it dumps and restores")
	}
	for _, postgres := range []bool{false, true} {
		t.Run(map[bool]string{false: "file", true: "database"}[postgres], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{postgres: postgres})
			w.start()
			thread := w.mention("pay 5")
			w.mustClick(ben, w.card(thread, 1), "approve")
			w.answer(thread, "R-1")
			w.card(w.mention("pay 6"), 1)
			for out := ""; !strings.Contains(out, ", 0 unsealed,"); { // each takes a while
				out = w.must("audit", "verify")
			}
			w.drills()
			w.verified()
		})
	}
}

func (w *world) drills() {
	w.t.Helper()
	var into []string
	emptyDatabase := func() {
		if w.store != "" {
			into = []string{"--into", databaseURL(w.t)}
		}
	}
	emptyDatabase()
	out, code := w.drill(append(into, "--keep")...)
	if code != 0 || !strings.Contains(out, "THE RESTORE HOLDS") || !strings.Contains(out, "an entry has the head") ||
		!strings.Contains(out, "the schema has version") == (w.store != "") {
		w.t.Fatalf("%d\n%s", code, out)
	}
	_, at, _ := strings.Cut(out, "is left in ")
	left := strings.TrimSuffix(strings.TrimSpace(at), ".")
	backup := filepath.Join(left, "backup.db")
	if w.store != "" {
		if again, code := w.drill(into...); code != 2 || !strings.Contains(again, "has a schema") {
			w.t.Errorf("into a database that is in use: %d\n%s", code, again)
		}
		if dumps, err := os.ReadDir(w.scratch()); err != nil || len(dumps) != 0 {
			w.t.Errorf("the dump of the database lies about: %v %v", dumps, err)
		}
		w.drillsNowhere(into[1])
		backup = filepath.Join(w.dir, "copy.dump")
		w.dumpOfGrants(backup)
		emptyDatabase()
		if out, code := w.drill(append(into, "--backup", backup)...); code != 0 {
			w.t.Errorf("a role that may read is not on the server of the drill: %d\n%s", code, out)
		}
	} else {
		w.t.Cleanup(func() { os.RemoveAll(left) })
	}
	const holdsNot = "THE RESTORE DOES NOT HOLD"
	emptyDatabase()
	if out, code := w.drill(append(into, "--backup", backup, "--head", strings.Repeat("ab", 32))...); code == 0 ||
		!strings.Contains(out, "does not go on from what was verified then") || !strings.Contains(out, holdsNot) {
		w.t.Errorf("control, another head: %d\n%s", code, out)
	}
	data, err := os.ReadFile(backup)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(backup, data[:len(data)*2/3], 0o600); err != nil {
		w.t.Fatal(err)
	}
	if out, code := w.drill(append(into, "--backup", backup)...); code == 0 || !strings.Contains(out, holdsNot) {
		w.t.Errorf("control, a backup that was cut off: %d\n%s", code, out)
	}
}

// drillsNowhere tries what ends before it shows whether the restore holds. That says nothing of the backup, and the
// records of the store that lies in the database already stay, also where nobody can say at first that they are there.
func (w *world) drillsNowhere(full string) {
	w.t.Helper()
	const nothing, blames = "NOTHING IS KNOWN OF THE BACKUP", "is not one to rely on"
	try := func(name, path string, args ...string) {
		w.t.Helper()
		out, code := w.drillWith(path, args...)
		if code == 0 || !strings.Contains(out, nothing) || strings.Contains(out, blames) {
			w.t.Errorf("%s: %d\n%s", name, code, out)
		}
	}
	empty := databaseURL(w.t)
	try("no database named", "")
	try("a database that is not there", "", "--into", strings.Replace(empty, "localhost/", "localhost/none_", 1))
	try("a schema named", "", "--into", empty+"&schema=other")
	shim, once := w.t.TempDir(), filepath.Join(w.t.TempDir(), "once")
	refused := "#!/bin/sh\n[ -e " + once + " ] && exec " + filepath.Join(pgdev.Programs(), "psql") + ` "$@"` +
		"\ntouch " + once + "; echo 'sorry, too many clients already' >&2; exit 2\n"
	if err := os.WriteFile(filepath.Join(shim, "psql"), []byte(refused), 0o700); err != nil {
		w.t.Fatal(err)
	}
	try("a database that refuses once", shim+":", "--into", full)
	stops := w.t.TempDir()
	stop := "#!/bin/sh\nkill -TERM $PPID; sleep 1; exit 1\n"
	if err := os.WriteFile(filepath.Join(stops, "pg_restore"), []byte(stop), 0o700); err != nil {
		w.t.Fatal(err)
	}
	try("somebody who stops it", stops+":", "--into", empty)
	own := w.store
	w.store = full
	w.must("audit", "verify") // it is there
	older := filepath.Join(w.dir, "older.dump")
	pgdev.Start(w.t).Exec(w.t, databaseOf(full), "delete from countersign.migrations where version = "+
		"(select max(version) from countersign.migrations)")
	w.dump(older)
	w.store = own
	try("a backup of an earlier version", "", "--into", empty, "--backup", older)
}

// drill runs the script with the bot's environment.
func (w *world) drill(args ...string) (out string, code int) {
	w.t.Helper()
	return w.drillWith("", args...)
}

// drillWith has the folders of path, each with a colon behind it, before those of the others.
func (w *world) drillWith(path string, args ...string) (out string, code int) {
	w.t.Helper()
	script, err := filepath.Abs("../../deploy/restore-drill")
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(script, args...)
	cmd.Dir = w.dir
	cmd.Env = append(w.env(), "COUNTERSIGN="+binary(w.t), "PATH="+path+pgdev.Programs()+":"+os.Getenv("PATH"),
		"TMPDIR="+w.scratch())
	var all output
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	w.outputs = append(w.outputs, all.String)
	return all.String(), cmd.ProcessState.ExitCode()
}

// scratch is the folder for the drill's temporary ones.
func (w *world) scratch() string {
	w.t.Helper()
	folder := filepath.Join(w.dir, "scratch")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return folder
}

// dump makes a backup of the world's database.
func (w *world) dump(file string) {
	w.t.Helper()
	url, _, _ := strings.Cut(w.store, "&schema=")
	cmd := exec.Command(filepath.Join(pgdev.Programs(), "pg_dump"), "-Fc", "--schema=countersign", "-f", file, url)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("pg_dump: %v: %s", err, out)
	}
}

// dumpOfGrants makes a backup of the world's database in which a role may read it that is not there afterwards, as on
// another server.
func (w *world) dumpOfGrants(file string) {
	w.t.Helper()
	cluster, database := pgdev.Start(w.t), databaseOf(w.store)
	cluster.Exec(w.t, database, "create role analyst_of_drill")
	cluster.Exec(w.t, database, "grant usage on schema countersign to analyst_of_drill")
	w.dump(file)
	cluster.Exec(w.t, database, "drop owned by analyst_of_drill")
	cluster.Exec(w.t, database, "drop role analyst_of_drill")
}
