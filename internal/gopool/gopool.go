// Package gopool keeps goroutines for the next function when they have run one. A new goroutine begins with a small
// stack, and letting that grow took a twentieth of the processor time of a click, and of a run.
package gopool

import "sync"

// Pool is goroutines that stay. New makes one.
type Pool struct {
	next    chan func()   // to one that waits; closed when there are no more
	spare   chan struct{} // one element for each that waits, or is about to
	running sync.WaitGroup
}

// New returns a pool in which at most so many goroutines wait for something to do.
func New(spare int) *Pool {
	return &Pool{next: make(chan func()), spare: make(chan struct{}, spare)}
}

// Go has a goroutine run f, a new one if none waits. It does not block. f may end its goroutine.
func (p *Pool) Go(f func()) {
	select {
	case p.next <- f:
	default:
		p.running.Go(func() { p.stay(f) })
	}
}

// stay runs f and what follows, until there is no more or enough others wait.
func (p *Pool) stay(f func()) {
	for more := true; more; {
		f()
		select {
		case p.spare <- struct{}{}:
		default:
			return
		}
		f, more = <-p.next
		<-p.spare
	}
}

// Close returns when everything has run and all goroutines have ended. Go must not be called any more.
func (p *Pool) Close() {
	close(p.next)
	p.running.Wait()
}
