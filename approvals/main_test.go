package approvals_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/pgdev"
)

var (
	long     = flag.Bool("long", false, "run the slow tests too")
	patience = flag.Duration("patience", time.Minute, "how long a test waits for what must come")
	onStore  = pgdev.StoreFlag()
)

// TestMain makes the machines' sequences of steps longer than rapid does unless asked.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.steps" })
	if !chosen {
		if err := flag.Set("rapid.steps", "50"); err != nil {
			panic(err)
		}
	}
	os.Exit(pgdev.Run(m))
}

// storeFor returns the URL of an empty store for a test, of the kind that -store names. In a synctest bubble, whose
// clock begins with the year 2000, it is a file all the same: who waits for a server keeps that clock from moving.
func storeFor(t testing.TB) string {
	t.Helper()
	if *onStore == "postgres" && time.Now().Year() > 2000 {
		return pgdev.Start(t).Schema(t)
	}
	return "bolt:" + filepath.Join(t.TempDir(), "store.db")
}

// sequences is how many sequences of steps a machine is driven by: few, as each takes a while, or with -long a hundred.
func sequences(few int) int {
	if *long {
		return 100
	}
	return few
}
