package pgstore

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/storetest"
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

// TestFrozenVersions brings a schema of every version up to date: every record says what it said then, there
// are no others, and the chains of the audit trail hold.
func TestFrozenVersions(t *testing.T) {
	t.Parallel()
	forEachVersion(t, func(t *testing.T, version int) {
		s := openStore(t, frozenURL(t, version), Config{})
		var unread []transfer.Kind // of version 1, which had no jobs
		if version == 1 {
			unread = []transfer.Kind{transfer.KindJob, transfer.KindCounter}
		}
		storetest.Frozen(t, s, frozenFile(t, version, ".jsonl"), unread...)
		report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
		bad, _ := errors.AsType[*approvals.AuditError](err) // nobody wrote a trail beside the records of T3
		untold := bad != nil && bad.Workspace == "T3" && bad.Kind == approvals.FaultMissing
		if want := min(version, 2) + 1; !untold || len(report.Workspaces) != want {
			t.Errorf("audit of %d workspaces, want %d: %v", len(report.Workspaces), want, err)
		}
	})
}
