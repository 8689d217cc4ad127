package bot

import "sync"

// readiness is whether something is ready now. Others can wait until it is. The zero value is not ready.
type readiness struct {
	mu     sync.Mutex
	ready  bool
	closed chan struct{} // closed when ready; nil until somebody asks
}

// set says how it is from now on.
func (r *readiness) set(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ready == r.ready {
		return
	}
	r.ready = ready
	switch {
	case !ready:
		r.closed = nil
	case r.closed != nil:
		close(r.closed)
	}
}

// channel is closed once it is ready, which may be now. When it ceases to be, there is another channel.
func (r *readiness) channel() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed == nil {
		r.closed = make(chan struct{})
		if r.ready {
			close(r.closed)
		}
	}
	return r.closed
}
