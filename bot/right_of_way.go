package bot

import (
	"context"
	"sync"
	"time"
)

const (
	// mostYield is how long an update of a card lets acknowledgements go first.
	mostYield = 100 * time.Millisecond
	// yielders is how many updates wait like that at once; the others wait for one of these places. Together they bound
	// what updates take from acknowledgements while people click without a pause, to 160 of them in a second, and how
	// far cards fall behind.
	yielders = 16
	// pause is how long no acknowledgement has been due when updates go on after several were due at once: clicks that
	// were answered together are often followed by the next ones together. Behind one person's clicks nothing waits.
	pause = 5 * time.Millisecond
)

// rightOfWay lets what Slack waits for go before what nobody does: cards are brought up to date between
// acknowledgements. It never holds up an acknowledgement.
type rightOfWay struct {
	places chan struct{} // one element for each update that is next

	mu    sync.Mutex
	due   int           // acknowledgements
	crowd bool          // several were due at once since none was
	last  time.Time     // when the last one of a crowd was written
	clear chan struct{} // closed when none is due any more; nil while nobody yields
}

func newRightOfWay() *rightOfWay { return &rightOfWay{places: make(chan struct{}, yielders)} }

// enter says that an acknowledgement is due until leave.
func (w *rightOfWay) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due++
	w.crowd = w.crowd || w.due > 1
}

func (w *rightOfWay) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due--; w.due > 0 {
		return
	}
	if w.crowd {
		w.crowd, w.last = false, time.Now()
	}
	if w.clear != nil {
		close(w.clear)
		w.clear = nil
	}
}

// yield returns when no acknowledgement is due, and no crowd of them was in the last moments, when it has had a place
// for mostYield, or when ctx ends.
func (w *rightOfWay) yield(ctx context.Context) {
	if clear, rest := w.busy(); clear == nil && rest <= 0 {
		return
	}
	select {
	case w.places <- struct{}{}:
		defer func() { <-w.places }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mostYield)
	defer cancel()
	for ctx.Err() == nil {
		clear, rest := w.busy()
		switch {
		case clear == nil && rest <= 0:
			return
		case clear == nil:
			sleep(ctx, rest)
		default:
			select {
			case <-clear:
			case <-ctx.Done():
			}
		}
	}
}

// busy returns what is closed when no acknowledgement is due any more, or nil and what is left of the pause after a
// crowd of them.
func (w *rightOfWay) busy() (clear <-chan struct{}, rest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due == 0 {
		return nil, pause - time.Since(w.last)
	}
	if w.clear == nil {
		w.clear = make(chan struct{})
	}
	return w.clear, 0
}
