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
	os.Exit(m.Run())
}

// sequences is how many sequences of steps a machine is driven by: few, as each takes a while, or with -long a hundred.
func sequences(few int) int {
	if *long {
		return 100
	}
	return few
}
