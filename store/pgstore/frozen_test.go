package pgstore

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/transfer"
)

// frozenFile reads a file of testdata/frozen; its README says what lies there.
func frozenFile(t testing.TB, version int, ending string) []byte {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("testdata/frozen/version%d%s.gz", version, ending))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// frozenURL returns the URL of a schema that has the version, with the records that a program of that time wrote.
func frozenURL(t testing.TB, version int) string {
	t.Helper()
	url := pgdev.Start(t).Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sql := string(frozenFile(t, version, ".sql"))
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	var has int
	err = conn.QueryRow(t.Context(), "select max(version) from frozen.migrations").Scan(&has)
	if err != nil || has != version {
		t.Fatalf("the schema has version %d, want %d: %v", has, version, err)
	}
	return inSchema(url, "frozen")
}

// forEachVersion runs a test on the records of every version, the present one included: there are records of it by the
// time the next one comes.
func forEachVersion(t *testing.T, test func(t *testing.T, version int)) {
	for version := range must(migrations()) {
		t.Run(fmt.Sprint("version", version+1), func(t *testing.T) {
			t.Parallel()
			test(t, version+1)
		})
	}
}

// frozenLine is a record as a program of its version read it.
type frozenLine struct {
	Kind   transfer.Kind
	Key    transfer.Key
	Record json.RawMessage
}

func (l *frozenLine) String() string { return fmt.Sprintf("%s %q", l.Kind, l.Key) }

func frozenLines(t testing.TB, version int) (all []frozenLine) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(frozenFile(t, version, ".jsonl"))); ; {
		var l frozenLine
		switch err := dec.Decode(&l); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, l)
	}
}

// TestFrozenVersions brings a schema of every version up to date: every record says what it said then, there
// are no others, and the chains of the audit trail hold.
func TestFrozenVersions(t *testing.T) {
	t.Parallel()
	forEachVersion(t, func(t *testing.T, version int) {
		s := openStore(t, frozenURL(t, version), Config{})
		now := make(map[string]transfer.Record)
		for _, kind := range transfer.Kinds() {
			for r, err := range s.Records(t.Context(), kind, nil) {
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				now[(&frozenLine{Kind: kind, Key: r.Key()}).String()] = r
			}
		}
		kinds := make(map[transfer.Kind]bool)
		for _, l := range frozenLines(t, version) {
			kinds[l.Kind] = true
			r, ok := now[l.String()]
			if delete(now, l.String()); !ok {
				t.Errorf("%s is gone", &l)
			} else if d := changed(t, l.Record, r); d != "" {
				t.Errorf("%s reads differently (-then +now):\n%s", &l, d)
			}
		}
		if version == 1 { // which had no jobs; whoever moves a store asks for the counter in any case
			delete(now, (&frozenLine{Kind: transfer.KindCounter, Key: transfer.Counter{}.Key()}).String())
		}
		for name := range now {
			t.Errorf("%s was not there", name)
		}
		for _, kind := range transfer.Kinds() {
			later := version == 1 && (kind == transfer.KindJob || kind == transfer.KindCounter)
			if !kinds[kind] && !later && kind != transfer.KindUnsealed {
				t.Errorf("control: there were no %s", kind)
			}
		}
		report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
		if want := min(version, 2) + 1; err != nil || len(report.Workspaces) != want {
			t.Errorf("audit of %d workspaces, want %d: %v", len(report.Workspaces), want, err)
		}
	})
}

// changed compares what a record said with what it says now. Fields that were not there then must be empty.
func changed(t *testing.T, then json.RawMessage, now transfer.Record) string {
	t.Helper()
	data, err := encode(now)
	var was, is any
	if err := errors.Join(err, exactly(then, &was), exactly(data, &is)); err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(was, withoutNew(was, is))
}

// exactly reads JSON with its numbers as they are written.
func exactly(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// withoutNew leaves out of a value the empty fields that it did not have then.
func withoutNew(then, now any) any {
	switch now := now.(type) {
	case map[string]any:
		was, _ := then.(map[string]any)
		for name, v := range now {
			if had, ok := was[name]; ok {
				now[name] = withoutNew(had, v)
			} else if isEmpty(v) {
				delete(now, name)
			}
		}
	case []any:
		was, _ := then.([]any)
		for i := range min(len(was), len(now)) {
			now[i] = withoutNew(was[i], now[i])
		}
	}
	return now
}

// isEmpty reports whether a value of JSON is what a field has that nobody has set.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, in := range v {
			if !isEmpty(in) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case string:
		return v == "" || v == "0001-01-01T00:00:00Z"
	case json.Number:
		return v == "0"
	case bool:
		return !v
	}
	return v == nil
}
