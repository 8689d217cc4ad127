package pkg

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "")

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

type bench struct{ long bool }

func (b bench) rounds() int { return 1 }

// TestOthers names what the others name: a field, a method and a variable of its own.
func TestOthers(t *testing.T) {
	long := bench{}
	if long.long || long.rounds() > 1 {
		t.Fail()
	}
}
