//go:build faults

package fault

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

var (
	wanted, nth = parse(os.Getenv("COUNTERSIGN_FAULT"))
	passes      atomic.Int64
)

func parse(s string) (string, int64) {
	name, n, ok := strings.Cut(s, ":")
	if !ok {
		return name, 1
	}
	i, err := strconv.ParseInt(n, 10, 64)
	if err != nil || i < 1 {
		panic("COUNTERSIGN_FAULT: want point:n, have " + s)
	}
	return name, i
}

// Point blocks for ever at the wanted pass of the wanted point, after reporting it on file descriptor 3.
func Point(name string) {
	if wanted == "" || name != wanted || passes.Add(1) != nth {
		return
	}
	os.NewFile(3, "fault").WriteString(name + "\n")
	select {}
}
