package bot

import (
	"context"
	"sync"
	"time"
)

// mostYield is how long an update of a card lets acknowledgements go first. It bounds how far cards fall behind while
// people click without a pause.
const mostYield = 100 * time.Millisecond

// rightOfWay lets what Slack waits for go before what nobody does: cards are brought up to date between
// acknowledgements. It never holds up an acknowledgement.
type rightOfWay struct {
	mu    sync.Mutex
	due   int           // acknowledgements
	clear chan struct{} // closed when none is due any more; nil while nobody yields
}

// enter says that an acknowledgement is due until leave.
func (w *rightOfWay) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due++
}

func (w *rightOfWay) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due--; w.due == 0 && w.clear != nil {
		close(w.clear)
		w.clear = nil
	}
}

// yield returns when no acknowledgement is due, after mostYield, or when ctx ends.
func (w *rightOfWay) yield(ctx context.Context) {
	w.mu.Lock()
	if w.due == 0 {
		w.mu.Unlock()
		return
	}
	if w.clear == nil {
		w.clear = make(chan struct{})
	}
	clear := w.clear
	w.mu.Unlock()
	timer := time.NewTimer(mostYield)
	defer timer.Stop()
	select {
	case <-clear:
	case <-timer.C:
	case <-ctx.Done():
	}
}
