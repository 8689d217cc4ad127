package approvals_test

import (
	"flag"
	"os"
	"testing"
	"time"
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
		for name, value := range map[string]string{"rapid.checks": "20", "rapid.steps": "50"} {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
