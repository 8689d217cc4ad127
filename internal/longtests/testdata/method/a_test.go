package method

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "")

type bench struct{}

func (bench) rounds() int {
	if *long {
		return 50
	}
	return 5
}

func TestReads(t *testing.T) { _ = bench{}.rounds() }
