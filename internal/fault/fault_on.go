//go:build faults

package fault

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var errOrdered = errors.New("a fault that a test has ordered")

// order is what COUNTERSIGN_FAULT asks for.
type order struct {
	point  string
	nth    int64
	action string
	pause  time.Duration
}

var (
	ordered = parse(os.Getenv("COUNTERSIGN_FAULT"))
	passes  atomic.Int64
)

func parse(s string) (o order) {
	parts := strings.SplitN(s, ":", 3)
	o = order{point: parts[0], nth: 1, action: "kill"}
	if len(parts) > 1 {
		n, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || n < 1 {
			panic("COUNTERSIGN_FAULT: want point:n, have " + s)
		}
		o.nth = n
	}
	if len(parts) > 2 {
		o.action = parts[2]
	}
	if pause, ok := strings.CutPrefix(o.action, "sleep="); ok {
		d, err := time.ParseDuration(pause)
		if err != nil {
			panic("COUNTERSIGN_FAULT: want sleep=DURATION, have " + s)
		}
		o.action, o.pause = "sleep", d
	}
	switch o.action {
	case "kill", "freeze", "sleep", "error":
		return o
	}
	panic("COUNTERSIGN_FAULT: want kill, freeze, sleep=DURATION or error, have " + s)
}

// Point does what is ordered, at the wanted pass of the wanted point.
func Point(name string) { pass(name) }

// Error is Point that returns an error where one is ordered.
func Error(name string) error {
	if pass(name) && ordered.action == "error" {
		return errOrdered
	}
	return nil
}

func pass(name string) (due bool) {
	if ordered.point == "" || name != ordered.point || passes.Add(1) != ordered.nth {
		return false
	}
	switch ordered.action {
	case "sleep":
		time.Sleep(ordered.pause)
	case "freeze":
		report(name)
		syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the error: there is always this process
		time.Sleep(50 * time.Millisecond)          // until the stop has reached this thread, too
	case "kill":
		report(name)
		select {}
	}
	return true
}

func report(name string) { os.NewFile(3, "fault").WriteString(name + "\n") }
