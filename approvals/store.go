package approvals

import (
	"context"
	"encoding/json"
	"time"

	"countersign/agent"
)

// Store keeps the records. It knows no rules: it gets, puts and lists, in transactions. store/storetest is the
// contract's conformance suite.
type Store interface {
	// View runs fn in a read transaction: a consistent snapshot. Put methods return an error in it.
	View(ctx context.Context, fn func(Tx) error) error
	// Update runs fn in a serializable read-write transaction and commits when fn returns nil; then, and only then, the
	// changes are durable. An error of fn is returned unchanged and nothing is changed. fn may be called again: it must
	// touch nothing but tx and what it resets at its start. A panic in fn rolls back and reaches the caller. A
	// cancelled ctx does nothing.
	Update(ctx context.Context, fn func(Tx) error) error
	// Dispatch hands due jobs to handle until ctx ends, then waits for the handlers under way and returns nil. When the
	// store is closed, before or meanwhile, it returns ErrClosed; any other error says that the store cannot go on. What
	// a handler returns never ends it. One Dispatch of a store runs at a time. See Job.
	Dispatch(ctx context.Context, handle func(context.Context, Job) error) error
	// Close releases the store; later calls return ErrClosed. It waits for transactions under way.
	Close() error
}

// Exclusive is implemented by stores whose open handle proves that no other process works on them. Leases that an
// earlier start left behind are then void at once.
type Exclusive interface{ Exclusive() bool }

// Tx is a transaction. Records passed in and handed out are the caller's own: a store neither keeps nor shares them. It
// is for the goroutine of its closure; once that has returned, every method returns an error and does nothing.
//
//   - Getters return ErrNotFound for what is not there; lists are empty instead, and so are lists with a limit of zero or
//     less. Lists are in the order of the bytes of their keys.
//   - Deleting what is not there succeeds and changes nothing.
//   - Putting a record that lacks its workspace or a part of its id is ErrInvalid.
//   - Raw JSON (arguments, audit data, outputs, states, sessions) comes back byte for byte. Within a record it has no
//     white space between its parts; states and sessions are any bytes.
//   - Two places that differ in Direct alone are one place.
type Tx interface {
	RunTx
	StateTx
	RequestTx
	EffectTx
	AuditTx
	OutboxTx
	SessionTx
	JobTx
}

// RunTx keeps runs.
type RunTx interface {
	Run(ws WorkspaceID, id RunID) (*Run, error)
	PutRun(r *Run) error
	// ActiveRun returns the run of the place that has not ended, or ErrNotFound.
	ActiveRun(ws WorkspaceID, p Place) (*Run, error)
	// ActiveRuns counts the runs that have not ended, of a requester (channel "") or in a channel (requester "").
	ActiveRuns(ws WorkspaceID, requester UserID, channel string) (int, error)
	// Once records the key of an event and reports whether it was new. Keys are kept per workspace. A key is new again
	// when the transaction that recorded it fails.
	Once(ws WorkspaceID, key string, now time.Time) (bool, error)
}

// StateTx keeps serialized run states as a head and append-only chunks.
type StateTx interface {
	// State returns the head and the chunks in order; ErrNotFound when the run has none.
	State(ws WorkspaceID, run RunID) (head json.RawMessage, chunks []json.RawMessage, err error)
	// PutState replaces the head and, when d.Count > 0, appends d.Items as the chunk that starts at d.From. A chunk that
	// starts there already, and all behind it, are replaced. A negative From or Count is ErrInvalid.
	PutState(ws WorkspaceID, run RunID, d agent.Delta) error
	// DeleteState removes head and chunks.
	DeleteState(ws WorkspaceID, run RunID) error
}

// RequestTx keeps requests.
type RequestTx interface {
	Request(ws WorkspaceID, id RequestID) (*Request, error)
	PutRequest(r *Request) error
	// PendingRequests lists pending requests by id, after the given one, at most limit. Its cost depends on limit, not
	// on how many requests were ever decided.
	PendingRequests(ws WorkspaceID, after RequestID, limit int) ([]*Request, error)
	// RequestsOfRun lists a run's requests by id.
	RequestsOfRun(ws WorkspaceID, run RunID) ([]*Request, error)
}

// EffectRecord is the journal's record of one execution of a tool.
type EffectRecord struct {
	Workspace WorkspaceID       `json:"workspace"`
	Run       RunID             `json:"run"`
	ID        string            `json:"id"`      // agent.Effect.ID
	Request   RequestID         `json:"request"` // the request that allowed it, if one did
	Tool      string            `json:"tool"`
	Digest    agent.Digest      `json:"digest"`
	Attempt   int               `json:"attempt"` // from 1; grows with every intent
	Epoch     int64             `json:"epoch"`   // of the newest intent
	Intent    time.Time         `json:"intent"`
	Done      time.Time         `json:"done,omitzero"`
	Output    *agent.ToolOutput `json:"output,omitempty"`
}

// EffectTx keeps the journal.
type EffectTx interface {
	Effect(ws WorkspaceID, run RunID, id string) (*EffectRecord, error)
	PutEffect(e *EffectRecord) error
}

// AuditTx keeps the audit chain.
type AuditTx interface {
	// AuditHead returns the newest entry of the workspace, or ErrNotFound.
	AuditHead(ws WorkspaceID) (*AuditEntry, error)
	// PutAudit appends e. e.Seq must be the head's plus one, 1 for the first; anything else is ErrInvalid.
	PutAudit(e *AuditEntry) error
	// AuditEntries lists entries from seq on, at most limit.
	AuditEntries(ws WorkspaceID, seq uint64, limit int) ([]*AuditEntry, error)
	// AuditWorkspaces lists the workspaces that have entries.
	AuditWorkspaces() ([]WorkspaceID, error)
}

// OutboxTx keeps notifications until they are delivered.
type OutboxTx interface {
	PutNotification(n *Notification) error
	// Notifications lists the undelivered notifications of a place by id, at most limit.
	Notifications(ws WorkspaceID, p Place, limit int) ([]*Notification, error)
	DeleteNotification(n *Notification) error
}

// SessionTx keeps the memory of conversations across runs.
type SessionTx interface {
	// Session returns the chunks of the place in the order they were appended.
	Session(ws WorkspaceID, p Place) ([]json.RawMessage, error)
	// AppendSession appends items (a JSON array) under the key; appending under the same key again changes nothing.
	AppendSession(ws WorkspaceID, p Place, key string, items json.RawMessage) error
}

// JobKind says what a job does.
type JobKind string

// The kinds of jobs.
const (
	JobRun     JobKind = "run"     // ID is a RunID: execute it
	JobDeliver JobKind = "deliver" // ID is a place's key: deliver its outbox
	JobExpire  JobKind = "expire"  // ID is a RequestID: its time is up
)

// Job says that something may be due. It carries ids only and is idempotent: the handler re-reads the truth.
//
// Kind, Workspace and ID are its key. Enqueueing a key that is there already keeps one job, with the earlier due time;
// enqueueing one that is being handled makes it run again afterwards, at that due time. Jobs of one key are never handled
// at once, and no job before it is due. A handler's nil removes the job. Its error repeats the job with back-off, or
// sooner when it is enqueued meanwhile; but after a *RetryError it is not handled before After has passed, whatever is
// enqueued. A handler that panics has failed; one that returns because ctx has ended has not been started. Jobs survive
// a restart.
type Job struct {
	Workspace WorkspaceID `json:"workspace"`
	Kind      JobKind     `json:"kind"`
	ID        string      `json:"id"`
	Due       time.Time   `json:"due"`             // a zero time, and any other in the past, is now
	Place     *Place      `json:"place,omitempty"` // for JobDeliver
	// Attempts is for handlers to read: how often in a row the job has failed. Enqueue ignores it and leaves it as it is.
	Attempts int `json:"attempts,omitempty"`
}

// JobTx enqueues jobs in the transaction of what makes them due.
type JobTx interface {
	// Enqueue plans j; see Job. What is not committed is not planned.
	Enqueue(j Job) error
}
