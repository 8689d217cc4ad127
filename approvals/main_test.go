package approvals_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"countersign/internal/raceflag"
)

var (
	long     = flag.Bool("long", false, "run the slow tests too")
	patience = flag.Duration("patience", time.Minute, "how long a test waits for what must come")
)

// TestMain makes random tests short unless asked otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := *long
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		checks := "20"
		if raceflag.Enabled {
			checks = "6"
		}
		for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": "50"} {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
