package bot

import "sync"

// mostSpare is how many goroutines wait for something to do: two for each of the clicks that many people make at once.
const mostSpare = 192

// runners are goroutines that stay for the next function when they have run one: a new goroutine begins with a small
// stack, and to let that grow took a twentieth of the processor time of a click.
type runners struct {
	next    chan func()   // to one that waits; closed when there are no more
	spare   chan struct{} // one element for each that waits, or is about to
	running sync.WaitGroup
}

func newRunners() *runners {
	return &runners{next: make(chan func()), spare: make(chan struct{}, mostSpare)}
}

// run has a goroutine run f, a new one if none waits. It does not block.
func (r *runners) run(f func()) {
	select {
	case r.next <- f:
	default:
		r.running.Go(func() { r.stay(f) })
	}
}

// stay runs f and what follows, until there is no more or enough others wait.
func (r *runners) stay(f func()) {
	for more := true; more; {
		f()
		select {
		case r.spare <- struct{}{}:
		default:
			return
		}
		f, more = <-r.next
		<-r.spare
	}
}

// end returns when all goroutines have ended. Nothing is run any more.
func (r *runners) end() {
	close(r.next)
	r.running.Wait()
}
