package pkg

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

var long = flag.Bool("long", false, "")

func TestMain(m *testing.M) {
	flag.Parse()
	if !*long {
		flag.Set("rapid.checks", "20")
	}
	os.Exit(m.Run())
}

func TestReads(t *testing.T) {
	if !*long {
		t.Skip()
	}
}

func TestCallsWhatReads(t *testing.T) { t.Run("x", func(t *testing.T) { rounds() }) }

func rounds() int { return more() }

func more() int {
	if *long {
		return 50
	}
	return 5
}

func TestRandom(t *testing.T) { rapid.Check(t, func(*rapid.T) {}) }

type bench struct{ long bool }

func (b bench) rounds() int { return 1 }

// TestOthers names what the others name: a field, a method and a variable of its own.
func TestOthers(t *testing.T) {
	long := bench{}
	if long.long || long.rounds() > 1 {
		t.Fail()
	}
}
