package bot

import "sync"

// readiness is whether something is ready now. Others can wait until it is. The zero value is not ready.
type readiness struct {
	mu     sync.Mutex
	up     bool
	barred bool          // not ready, whatever else
	closed chan struct{} // closed when ready; nil until somebody asks
}

// set says how it is from now on.
func (r *readiness) set(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change(ready, r.barred)
}

// bar says whether something keeps it from being ready from now on.
func (r *readiness) bar(barred bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change(r.up, barred)
}

// change tells those who wait. r.mu is held.
func (r *readiness) change(up, barred bool) {
	was, is := r.up && !r.barred, up && !barred
	r.up, r.barred = up, barred
	switch {
	case was == is:
	case !is:
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
		if r.up && !r.barred {
			close(r.closed)
		}
	}
	return r.closed
}
