package boltstore

// aside is the goroutine on which a leader has the functions of others run. It stays from batch to batch: a new one
// begins with a small stack, and would have to let it grow. It begins with the first batch that has others.
type aside struct {
	next  chan *batch
	ended chan struct{}
}

// run has the waiting updates of b run, and returns when they have, or one of them has ended the goroutine.
func (a *aside) run(b *batch) {
	if a.next == nil {
		a.next, a.ended = make(chan *batch), make(chan struct{})
		go a.stay()
	}
	a.next <- b
	<-a.ended
}

// stay is the goroutine.
func (a *aside) stay() {
	again := true
	defer func() {
		if again { // an update has ended this goroutine: another takes its place
			go a.stay()
			a.ended <- struct{}{}
		}
	}()
	for b := range a.next {
		b.runWaiting()
		a.ended <- struct{}{}
	}
	again = false
}

// end ends the goroutine. There are no more batches.
func (a *aside) end() {
	if a.next != nil {
		close(a.next)
	}
}
