package approvals

import "time"

// MaxPause is the longest pause that a job takes because its handler asked for it, with *RetryError: a longer After is
// this one. A pause that was asked for while the store's clock was ahead ends when the job is enqueued after the clock
// was set back.
const MaxPause = time.Hour

// JobKind says what a job does.
type JobKind string

// The kinds of jobs.
const (
	JobRun     JobKind = "run"     // ID is a RunID: execute it
	JobDeliver JobKind = "deliver" // ID is CopyKey.JobID: deliver that queue of the outbox
	JobTimer   JobKind = "expire"  // ID is a RequestID: its NextAct has come
	JobTrigger JobKind = "trigger" // ID is a RequestID: send its call to the system that carries it out
	// The ID is of a run that has ended: delete its saved state, and see to calls that are still open.
	JobCleanup JobKind = "cleanup"
)

// AtOnce is how many jobs of the kind a worker handles at once, over all groups; zero: as many as it is given. A store
// that gives it no more keeps the others out of memory until it is their turn.
func (k JobKind) AtOnce() int {
	if k == JobDeliver {
		return deliverAtOnce
	}
	return 0
}

// Job says that something may be due. It carries ids only and is idempotent: the handler re-reads the truth.
//
// Kind, Workspace and ID are its key. Enqueueing a key that is there already keeps one job, with the earlier due time;
// enqueueing one that is being handled makes it run again afterwards, at that due time. No job is handled before it is
// due. A handler's nil removes the job unless it was enqueued again since the handler was given it. Its error repeats
// the job with back-off, or sooner when it is enqueued meanwhile; but after a *RetryError it is not handled before
// After has passed, whatever is enqueued; see MaxPause. A handler that panics or ends its goroutine has failed; one
// that returns because ctx has ended has not been started. Jobs survive a restart.
//
// A job may be handled late, more than once, out of order, and, by another process, at the same time as here: leases
// and versions of what it is about decide who may act. Stores that are Exclusive never handle one key twice at once.
type Job struct {
	Workspace WorkspaceID `json:"workspace"`
	Kind      JobKind     `json:"kind"`
	ID        string      `json:"id"`
	// Due is on the store's clock; a zero time, and any other in the past, is now.
	Due   time.Time `json:"due"`
	Place *Place    `json:"place,omitempty"` // for JobDeliver
	// Attempts is for handlers to read: how often in a row the job has failed, those among it that asked for a pause
	// unless that was RetryError.Uncounted. Enqueue ignores it and leaves it as it is.
	Attempts int `json:"attempts,omitempty"`
	// Copy is which copies of the place's notifications a JobDeliver delivers.
	Copy Copy `json:"copy,omitempty"`
	// Group is the job's share of the handlers, for instance a channel: however slow the handlers of one group are,
	// those of another are not kept waiting.
	Group string `json:"group,omitempty"`
	// Generation is for handlers to read: it grows with every Enqueue of the key, also when the job was gone in
	// between. Enqueue ignores it.
	Generation uint64 `json:"generation,omitempty"`
}

// JobTx enqueues jobs in the transaction of what makes them due.
type JobTx interface {
	// Enqueue plans jobs; see Job. What is not committed is not planned.
	Enqueue(jobs ...Job) error
	// DeleteJob removes the job with the key. A handler that has been given it is not stopped, and its error does not
	// bring the job back.
	DeleteJob(ws WorkspaceID, kind JobKind, id string) error
}
