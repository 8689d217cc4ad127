package approvals

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// atTheBeginning is how many jobs of runs have just begun at once, at least; more on many processors.
	atTheBeginning = 16
	// beginningLasts is for how long a job has just begun, unless it ends sooner.
	beginningLasts = 20 * time.Millisecond
)

// beginning has jobs of runs begin a few at a time. Before a run asks its model it needs the processor and little else:
// were a thousand of them to begin at once, each goroutine of a click would wait behind all of theirs, several times.
// Nobody holds a place for longer than beginningLasts, whatever a job waits for.
type beginning chan struct{}

func newBeginning() beginning { return make(beginning, max(atTheBeginning, 8*runtime.GOMAXPROCS(0))) }

// enter waits for a place and returns how to leave it.
func (b beginning) enter(ctx context.Context) (leave func(), err error) {
	select {
	case b <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var once sync.Once
	left := func() { once.Do(func() { <-b }) }
	timer := time.AfterFunc(beginningLasts, left)
	return func() {
		timer.Stop()
		left()
	}, nil
}
