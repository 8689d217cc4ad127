package bot

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

var onStore = pgdev.StoreFlag()

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(pgdev.Run(m))
}

// storeFor returns the URL of an empty store for a test, of the kind that -store names.
func storeFor(t testing.TB) string {
	t.Helper()
	if *onStore == "postgres" {
		return pgdev.Start(t).Schema(t)
	}
	return "bolt:" + filepath.Join(t.TempDir(), "store.db")
}

// ofOneProcess reports whether no other process can serve what is in the store.
func ofOneProcess(st approvals.Store) bool {
	e, ok := st.(approvals.Exclusive)
	return ok && e.Exclusive()
}
