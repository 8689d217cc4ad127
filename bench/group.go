package main

import (
	"go.etcd.io/bbolt"
)

// group is the plainest group commit there is: one goroutine takes whatever waits and commits it at once, without a
// timer. It neither isolates callers from each other's failures nor survives a panic.
type group struct {
	db    *bbolt.DB
	calls chan groupCall
	done  chan struct{}
}

type groupCall struct {
	fn   func(*bbolt.Tx) error
	told chan error
}

func newGroup(db *bbolt.DB, width int) *group {
	g := &group{db: db, calls: make(chan groupCall, width), done: make(chan struct{})}
	go g.run()
	return g
}

func (g *group) run() {
	defer close(g.done)
	for first := range g.calls {
		batch := []groupCall{first}
		err := g.db.Update(func(tx *bbolt.Tx) error {
			err := first.fn(tx)
			for len(g.calls) > 0 && err == nil {
				c := <-g.calls
				batch = append(batch, c)
				err = c.fn(tx)
			}
			return err
		})
		for _, c := range batch {
			c.told <- err
		}
	}
}

// update is db.Update, shared with whoever calls at the same time.
func (g *group) update(_ *bbolt.DB, fn func(*bbolt.Tx) error) error {
	c := groupCall{fn, make(chan error, 1)}
	g.calls <- c
	return <-c.told
}

func (g *group) close() {
	close(g.calls)
	<-g.done
}
