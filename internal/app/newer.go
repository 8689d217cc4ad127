package app

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"countersign/approvals"
)

// newer counts what this replica has met that only a newer version of the program can read, and has left to others.
type newer struct {
	mu    sync.Mutex
	times int
	last  time.Time
}

func (n *newer) note() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.times++
	n.last = time.Now()
}

// noteOf is note where that is what err says.
func (n *newer) noteOf(err error) {
	if errors.Is(err, approvals.ErrNewer) {
		n.note()
	}
}

// say tells who asks for readiness. All else is served, so it is no reason to be taken out of service: while replicas
// are replaced that would leave nobody, until the first new one is there.
func (n *newer) say(w io.Writer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.times > 0 {
		fmt.Fprintf(w, "records of a newer version were left to other replicas %d times, the last time at %s: "+
			"upgrade this one\n", n.times, n.last.UTC().Format(time.RFC3339))
	}
}
