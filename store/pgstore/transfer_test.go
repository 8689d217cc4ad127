package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/store/storetest"
	"countersign/store/transfer"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTransfer moves random data from memory into a schema and back, plain and encrypted.
func TestTransfer(t *testing.T) {
	t.Parallel()
	n, schemas := 0, [2]string{newURL(t), newURL(t)}
	storetest.Transfer(t, 10, func(testing.TB) storetest.Moving {
		url, cfg := schemas[n%2], Config{}
		if n%2 == 1 {
			cfg.Keys = testKeys(t, "a")
		}
		if n >= len(schemas) {
			emptied(t, url, cfg) // making a schema takes longer than all else
		}
		n++
		return storetest.Moving{
			Target: func() transfer.Target { return must(OpenTarget(t.Context(), url, cfg)) },
			Source: func() transfer.Source { return must(OpenSource(t.Context(), url, cfg)) },
		}
	})
}

// emptied leaves nothing in a schema of what was moved into it.
func emptied(t *testing.T, url string, cfg Config) {
	cfg.moving = true
	s := must(Open(t.Context(), url, cfg))
	defer s.Close()
	_, err := s.clicks.Exec(t.Context(), "truncate "+strings.Join(slices.Concat(recordTables, listTables), ", ")+
		"; drop table if exists transfer", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
}

// TestHalfIsRefused opens what a move that was interrupted has left behind, also one that had moved nothing yet: it
// would look like an empty store.
func TestHalfIsRefused(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	to := must(OpenTarget(t.Context(), url, Config{}))
	if mark, err := to.Mark(t.Context()); mark != nil || err != nil {
		t.Errorf("a move that has not begun is at %v, %v", mark, err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), url, Config{}); !errors.Is(err, transfer.ErrHalf) {
		t.Errorf("made for a move, and nothing is moved: %v", err)
	}
	to = must(OpenTarget(t.Context(), url, Config{}))
	if err := to.Import(t.Context(), nil, transfer.Mark{Version: transfer.Version}); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{"for work": {}, "for reading": {ReadOnly: true}} {
		_, err := Open(t.Context(), url, cfg)
		if !errors.Is(err, transfer.ErrHalf) || !strings.Contains(err.Error(), "migrate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenSource(t.Context(), url, Config{}); !errors.Is(err, transfer.ErrHalf) {
		t.Errorf("to move it on: %v", err)
	}
	to = must(OpenTarget(t.Context(), url, Config{}))
	if err := to.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, url, Config{}) // control: it was the mark alone
}

// TestTargetWithRecords: a schema with records of its own is not moved into, and nothing of it is changed before that
// is said: neither is it brought up to date, nor does it get a key that whoever it belongs to has not.
func TestTargetWithRecords(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := must(Open(t.Context(), url, Config{Keys: testKeys(t, "a")}))
	job := approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Group: "C1"}
	if err := s.Update(t.Context(), func(tx approvals.Tx) error { return tx.Enqueue(job, job) }); err != nil {
		t.Fatal(err)
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := s.clicks.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	steps := count("migrations")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		to, err := OpenTarget(t.Context(), url, Config{Keys: testKeys(t, "b", "a"), ReadOnly: readOnly})
		if !errors.Is(err, transfer.ErrNotEmpty) {
			t.Errorf("read-only %v: %v, want ErrNotEmpty", readOnly, err)
		}
		if err == nil {
			to.Close()
		}
	}
	s = openStore(t, url, Config{Keys: testKeys(t, "a")}) // with the key that it has
	if keys, now := count("store_keys"), count("migrations"); keys != 1 || now != steps {
		t.Errorf("%d keys and %d migrations, want 1 and %d", keys, now, steps)
	}
}

// TestMoveIsAlone opens a store while it is moved, and moves one that is open.
func TestMoveIsAlone(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openStore(t, url, Config{})
	for name, open := range map[string]func() error{
		"from": func() error { _, err := OpenSource(t.Context(), url, Config{}); return err },
		"into": func() error { _, err := OpenTarget(t.Context(), url, Config{}); return err },
	} {
		if err := open(); !errors.Is(err, transfer.ErrInUse) {
			t.Errorf("moving %s a store that is open: %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	from := must(OpenSource(t.Context(), url, Config{}))
	if _, err := Open(t.Context(), url, Config{}); !errors.Is(err, transfer.ErrInUse) {
		t.Errorf("opening what is moved: %v", err)
	}
	openStore(t, newURL(t), Config{}) // another schema of the database is not concerned
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, url, Config{}) // control: it was the move alone
}

// TestEveryTableIsMoved compares the tables that are read, and those that must be empty, with those that there are.
func TestEveryTableIsMoved(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	rows := must(s.clicks.Query(t.Context(), `select table_name from information_schema.tables
		where table_schema = current_schema and table_type = 'BASE TABLE' order by table_name`))
	tables := must(pgx.CollectRows(rows, pgx.RowTo[string]))
	ours := []string{"migrations", "store_keys", "format", "replicas"}
	tables = slices.DeleteFunc(tables, func(name string) bool {
		return strings.HasPrefix(name, "river_") || slices.Contains(ours, name)
	})
	tables = slices.DeleteFunc(tables, func(name string) bool { return slices.Contains(listTables, name) })
	if want := slices.Sorted(slices.Values(recordTables)); !slices.Equal(tables, want) {
		t.Errorf("tables %q, and records are in %q", tables, want)
	}
	read := map[string]bool{"request_contents": true} // with the heads
	for _, from := range readouts {
		read[from.from] = true
	}
	for _, name := range tables {
		if !read[name] {
			t.Errorf("%s is not moved", name)
		}
	}
	for _, kind := range transfer.Kinds() {
		if _, ok := readouts[kind]; !ok && kind != transfer.KindCounter {
			t.Errorf("%s are not read", kind)
		}
	}
}

// TestMovedJobRuns has a job that was moved handled.
func TestMovedJobRuns(t *testing.T) {
	t.Parallel()
	memory := storetest.NewMemory()
	m := memory.Open()
	job := approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Group: "C1"}
	if err := m.Update(t.Context(), func(tx approvals.Tx) error { return tx.Enqueue(job, job) }); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	url := newURL(t)
	to := must(OpenTarget(t.Context(), url, Config{}))
	must(transfer.Move(t.Context(), memory.Transfer(), to, transfer.Options{}))
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, url, Config{})
	handled := handleOne(t, s)
	if handled.ID != "run_1" || handled.Group != "C1" || handled.Generation == 0 {
		t.Errorf("handled %+v", handled)
	}
}

// handleOne returns the first job that the store hands out.
func handleOne(t *testing.T, s *Store) (first approvals.Job) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	err := s.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
		once.Do(func() { first = j })
		cancel()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}
