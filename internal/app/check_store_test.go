package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/pgdev"
)

// TestCheckAsksTheDatabase: check says in sentences how the database stands, before the first start and beside a bot,
// and ends with 2 where a start would be refused, with 1 where nobody answers. It changes nothing.
func TestCheckAsksTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	expect := func(out string, sentences ...string) {
		t.Helper()
		for _, want := range sentences {
			if !strings.Contains(out, want) {
				t.Errorf("want %q in:\n%s", want, out)
			}
		}
	}
	for range 2 {
		expect(w.must("check", "--offline", "--store"),
			"PostgreSQL 1", "schema is not there yet: the first start makes it",
			"WARNING: fsync or full_page_writes is off", "its clock is ", " this machine's")
	}
	if out := w.must("check", "--offline"); !strings.Contains(out, "store       not asked") {
		t.Errorf("offline:\n%s", out)
	}
	bot := w.start()
	expect(w.must("check"), "as this program needs", "processes that have it open: 1", "a commit waits for its disk",
		"tokens and scopes are good")
	var report struct{ Store map[string]any }
	if err := json.Unmarshal([]byte(w.must("check", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Store["schema_version"] != report.Store["schema_needs"] || report.Store["processes"] != 1.0 {
		t.Errorf("as JSON: %v", report.Store)
	}
	bot.stop()
	expect(w.must("check"), "processes that have it open: 0")
	refused := func(change, code, words string) {
		t.Helper()
		c := pgdev.Start(t)
		if change != "" {
			c.Exec(t, databaseOf(w.store), change)
		}
		_, complaint, got := w.with("COUNTERSIGN_STORE="+w.store, "check")
		if string(rune('0'+got)) != code || !strings.Contains(complaint, words) {
			t.Errorf("after %q: %d\n%s", change, got, complaint)
		}
	}
	if _, complaint, code := w.with(keysVariable("a:"+keyA), "check"); code != 2 ||
		!strings.Contains(complaint, "store is not encrypted, although keys are given") {
		t.Errorf("with keys for a plain store: %d\n%s", code, complaint)
	}
	refused("insert into countersign.store_keys (number, id, salt, check_text) values (0, 'a', '', '')", "2",
		"COUNTERSIGN_ENCRYPTION_KEYS: PostgreSQL at ")
	const other = "2027-05"
	if _, complaint, code := w.with(keysVariable(other+":"+keyA), "check"); code != 2 ||
		!strings.Contains(complaint, "COUNTERSIGN_ENCRYPTION_KEYS: schema countersign") {
		t.Errorf("with another key than that of the store: %d\n%s", code, complaint)
	}
	refused("create table countersign.transfer (one int)", "2", "store is half of a move")
	refused("update countersign.format set number = 99", "2", "nothing is lost: run the newer program")
	refused("insert into countersign.migrations values (99, 'later', '', 'countersign v9')", "2", "this program knows")
	refused("alter database "+databaseOf(w.store)+" set synchronous_commit = off", "2", "set it to on")
	w.store = "postgres://bot:" + canaryStore + "@127.0.0.1:1/countersign"
	refused("", "1", "start it, or look at host, port and firewall; \"countersign check --offline\" checks all else")
}

// TestRoleThatMayOnlyRead: where the role may read the records and not write them, as after a restore that made others
// their owner, check says so and ends with 2, as a start does.
func TestRoleThatMayOnlyRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	w.start().stop()
	c, good := pgdev.Start(t), w.store
	c.Exec(t, databaseOf(good), "create role reads login; grant usage on schema countersign to reads; "+
		"grant select on all tables in schema countersign to reads")
	w.store = strings.Replace(good, "postgres:"+canaryStore, "reads", 1)
	for _, command := range []string{"check", "run"} {
		_, complaint, code := w.run(command)
		if code != 2 || !strings.Contains(complaint, "docs/postgresql.md lists what the role needs") {
			t.Errorf("%s of a role that may only read: %d\n%s", command, code, complaint)
		}
	}
	c.Exec(t, databaseOf(good), "grant insert, update, delete on all tables in schema countersign to reads")
	w.must("check") // the control
}

// TestCommandsOfARoleThatMayMakeNoSchema: that there is no store is said as to one that may.
func TestCommandsOfARoleThatMayMakeNoSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	pgdev.Start(t).Exec(t, databaseOf(w.store), "create role guest login")
	w.store = strings.Replace(w.store, "postgres:"+canaryStore, "guest", 1)
	for _, args := range []string{"runs list", "outbox replay --all"} {
		_, complaint, code := w.run(strings.Fields(args)...)
		if code != 2 || !strings.Contains(complaint, "there is no store in PostgreSQL at ") {
			t.Errorf("%s: %d\n%s", args, code, complaint)
		}
	}
}

// TestCommandsMakeNoSchema: a command on a schema that is not there, as when it is mistyped, says so and makes none,
// also one that would write.
func TestCommandsMakeNoSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{postgres: true})
	for _, args := range []string{"outbox replay --all", "runs list", "audit verify"} {
		out, complaint, code := w.run(strings.Fields(args)...)
		if code != 2 || out != "" || !strings.Contains(complaint, "there is no store in PostgreSQL at ") ||
			!strings.Contains(complaint, "; COUNTERSIGN_STORE says where it is") {
			t.Errorf("%s: %d\n%s%s", args, code, out, complaint)
		}
	}
	if out := w.must("check", "--offline", "--store"); !strings.Contains(out, "schema is not there yet") {
		t.Errorf("a command has made the schema:\n%s", out)
	}
}

// databaseOf returns the name of the database of a URL.
func databaseOf(url string) string {
	_, rest, _ := strings.Cut(url, "@localhost/")
	name, _, _ := strings.Cut(rest, "?")
	return name
}
