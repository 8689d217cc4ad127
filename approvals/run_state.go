package approvals

import (
	"errors"
	"time"
)

// copyState is the queue of what the message that asked for a run shows of it. It has one to itself: it is worth less
// than anything else that is told, and may be late.
const copyState Copy = "state"

// How long a state is waited with for the next one, which takes its place.
const (
	workingPause = 2 * time.Second // people notice that nothing happens
	statePause   = 500 * time.Millisecond
)

// Marked is how a run stands, for the people who see the message that asked for it.
type Marked struct {
	Channel, Message string // the message; of the surface
	Status           RunStatus
	// Shown is the status that the message shows as far as is known; empty: none.
	Shown RunStatus
}

// shownAs is the status that people are told: a run that is queued or executed works.
func (s RunStatus) shownAs() RunStatus {
	if s == RunQueued {
		return RunRunning
	}
	return s
}

// mark has the message that asked for the run show how it stands, where the surface wants that. from is the status that
// the run had.
func (c *txn) mark(r *Run, from RunStatus) {
	to := r.Status.shownAs()
	if r.StateMessage == "" || from != "" && from.shownAs() == to {
		return
	}
	pause := statePause
	if to == RunRunning {
		pause = workingPause
	}
	c.notifyAt(&Notification{Kind: NotifyState, Place: r.Place, Copy: copyState, Run: r.ID}, c.Now().Add(pause))
}

// fillState fills in how the run of a NotifyState stands now: whatever it was when the entry was made, the last state
// is the one to show.
func (n *Notification) fillState(tx Tx) error {
	r, err := tx.Run(n.Workspace, n.Run)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	n.Marked = &Marked{
		Channel: r.Place.Channel, Message: r.StateMessage, Status: r.Status.shownAs(), Shown: r.StateShown,
	}
	return nil
}

// marked records what the message shows. The run may have gone on meanwhile: then another entry waits.
func (c *txn) marked(n *Notification) error {
	if n.Marked == nil || n.Marked.Shown == n.Marked.Status {
		return nil
	}
	r, err := c.run(n.Run)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.StateShown = n.Marked.Status
	r.Version++ // and not Updated, which is for what happens to the run
	return c.PutRun(r)
}
