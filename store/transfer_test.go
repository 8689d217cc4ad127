package store

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/transfer"
)

var long = flag.Bool("long", false, "also move many records")

// TestMoveThroughPostgres moves a file that an earlier version has written, with all that a bot leaves behind, into a
// database and from there into another file: every kind has the same digest at each step.
func TestMoveThroughPostgres(t *testing.T) {
	t.Parallel()
	database := pgdev.Start(t).Database(t)
	first, last := "bolt:"+frozen(t), "bolt:"+filepath.Join(t.TempDir(), "last.db")
	there, back := moved(t, first, database, nil), moved(t, database, last, nil)
	if !slices.Equal(there.Kinds, back.Kinds) || !slices.Equal(there.Workspaces, back.Workspaces) {
		t.Errorf("moved there:\n%+v\nand back:\n%+v", there, back)
	}
	if there.Total() < 100 || len(there.Workspaces) != 2 {
		t.Errorf("control: there is little to move: %+v", there)
	}
}

// TestMoveWhiteSpaceInARecord moves a request as earlier versions have kept it, with a schema as the tool's server had
// written it: a database keeps JSON within a record without white space. A state it keeps as it is.
func TestMoveWhiteSpaceInARecord(t *testing.T) {
	t.Parallel()
	const written = "{ \"type\" : \"object\" }"
	first, database := "bolt:"+filepath.Join(t.TempDir(), "first.db"), pgdev.Start(t).Database(t)
	s, err := Open(t.Context(), first, Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx approvals.Tx) error {
		r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: "req_1", Run: "run_1"}}
		r.Arguments, r.Schema = json.RawMessage(`{}`), json.RawMessage(written)
		return errors.Join(tx.PutRequest(r),
			tx.PutState("T1", "run_1", agent.Delta{Head: json.RawMessage(written)}))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	last := "bolt:" + filepath.Join(t.TempDir(), "last.db")
	there, back := moved(t, first, database, nil), moved(t, database, last, nil)
	if !slices.Equal(there.Kinds, back.Kinds) {
		t.Errorf("moved there:\n%+v\nand back:\n%+v", there, back)
	}
	const compact = `{"type":"object"}`
	for _, c := range []struct {
		a, b transfer.Record
		same bool
	}{
		{transfer.State{Head: json.RawMessage(written)}, transfer.State{Head: json.RawMessage(compact)}, false},
		{whiteSpace(written), whiteSpace(compact), true},
		{whiteSpace(written), whiteSpace(`{"type":"obj ect"}`), false},
		{whiteSpace("no JSON"), whiteSpace("noJSON"), false},
	} {
		if same := string(transfer.Form(c.a)) == string(transfer.Form(c.b)); same != c.same {
			t.Errorf("%+v and %+v have the same form: %v", c.a, c.b, same)
		}
	}
}

// whiteSpace is a request with such a schema.
func whiteSpace(schema string) transfer.Record {
	return transfer.Request{Request: &approvals.Request{
		RequestContent: approvals.RequestContent{Schema: json.RawMessage(schema)},
	}}
}

// frozen is a file of an earlier version, brought up to date.
func frozen(t *testing.T) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("boltstore", "testdata", "format2.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	from, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "first.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), "bolt:"+path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func moved(
	t *testing.T, from, to string, progress func(transfer.Progress),
) transfer.Report {
	t.Helper()
	source, err := OpenSource(t.Context(), from, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := OpenTarget(t.Context(), to, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o := transfer.Options{From: Describe(from), Progress: progress}
	report, err := transfer.Move(t.Context(), source, target, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestOpenToMoveRefuses shows that no error repeats a URL, and what is said of a store that is not there.
func TestOpenToMoveRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want error
	}{
		{"", ErrURL}, {"countersign.db", ErrURL}, {"bolt:", ErrURL},
		{"mysql://bot:hunter2@db/countersign", ErrURL},
		{"postgres://bot:hunter2@db/countersign?schema=Public!", ErrURL},
		{"bolt:" + filepath.Join(t.TempDir(), "none.db"), fs.ErrNotExist},
	} {
		_, err := OpenSource(t.Context(), c.url, Config{})
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %v", c.url, err, c.want)
		}
		if _, err := OpenTarget(t.Context(), c.url, Config{ReadOnly: true}); !errors.Is(err, c.want) {
			t.Errorf("%s, to look at: %v, want %v", c.url, err, c.want)
		}
	}
	if name := Describe("postgres://bot:hunter2@db/countersign"); strings.Contains(name, "hunter2") {
		t.Errorf("%s has the password", name)
	}
}

// TestMoveManyIntoPostgres moves many records into a database: what is held in memory meanwhile is bounded.
func TestMoveManyIntoPostgres(t *testing.T) {
	if !*long {
		t.Skip("-long")
	}
	const records, batch = 100_000, 5000
	path := "bolt:" + filepath.Join(t.TempDir(), "many.db")
	s, err := Open(t.Context(), path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	chunk, _ := json.Marshal(strings.Repeat("a long conversation ", 20))
	for i := 0; i < records; {
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			for end := i + batch; i < end; i++ {
				run := approvals.RunID(fmt.Sprintf("run_%05d", i/100))
				err := tx.PutState("T1", run, agent.Delta{Head: chunk, From: i % 100, Count: 1, Items: chunk})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var most uint64
	began := time.Now()
	report := moved(t, path, pgdev.Start(t).Database(t), func(transfer.Progress) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	})
	t.Logf("%d records moved and compared in %s, at most %d MB of heap", report.Total(), time.Since(began), most>>20)
	if most > 128<<20 {
		t.Errorf("%d MB of heap in use", most>>20)
	}
}
