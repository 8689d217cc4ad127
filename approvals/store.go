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
	// View runs fn in a read transaction: a consistent snapshot. Put methods return an error in it. fn may be called
	// again, as in Update.
	View(ctx context.Context, fn func(Tx) error) error
	// Update runs fn in a serializable read-write transaction and commits when fn returns nil; then, and only then, the
	// changes are durable. An error of fn is returned unchanged and nothing is changed. fn may be called again: it must
	// touch nothing but tx and what it resets at its start. It may run on another goroutine than the caller's. A panic
	// in fn rolls back and reaches the caller, as does the end of its goroutine. A cancelled ctx does nothing.
	// ErrCommitUnknown says that the changes may or may not be durable.
	Update(ctx context.Context, fn func(Tx) error) error
	// Dispatch hands due jobs to handle until ctx ends, then waits for the handlers under way and returns nil. When
	// the store is closed, before or meanwhile, it returns ErrClosed; any other error says that the store cannot go
	// on. What a handler returns never ends it. Several processes may dispatch the jobs of one store; a store that
	// serves one process alone may refuse a second Dispatch. See Job.
	Dispatch(ctx context.Context, handle func(context.Context, Job) error) error
	// Close releases the store; later calls return ErrClosed. It waits for transactions under way.
	Close() error
}

// Exclusive is implemented by stores whose open handle proves that no other process works on them, and which serve one
// Dispatch at a time. Leases that an earlier start left behind are then void at once, audit entries are linked into the
// chain when they are appended, and a copy's delivery needs no lease.
type Exclusive interface{ Exclusive() bool }

type unhurried struct{}

// WithoutHurry marks what is done under the context as nothing that a person waits for with a button pressed. A store
// that cannot serve everybody at once serves the others first, and this in time all the same; any store may ignore it.
func WithoutHurry(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurried{}, true)
}

// Unhurried reports whether the context was marked by WithoutHurry.
func Unhurried(ctx context.Context) bool { return ctx.Value(unhurried{}) != nil }

type ownTransaction struct{}

// WithOwnTransaction marks transactions under the context as some that read what all others add to. A store in which
// callers share transactions may give each of these one of its own at once; any store may ignore it.
func WithOwnTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownTransaction{}, true)
}

// OwnTransaction reports whether the context was marked by WithOwnTransaction.
func OwnTransaction(ctx context.Context) bool { return ctx.Value(ownTransaction{}) != nil }

type oneRead struct{}

// WithOneRead marks what a View under the context runs as something that reads once, or takes the mark away. A store
// may end the transaction together with that read; a function that reads again all the same is run a second time. Any
// store may ignore it.
func WithOneRead(ctx context.Context, once bool) context.Context {
	if OneRead(ctx) == once {
		return ctx
	}
	return context.WithValue(ctx, oneRead{}, once)
}

// OneRead reports whether the context was marked by WithOneRead.
func OneRead(ctx context.Context) bool {
	once, _ := ctx.Value(oneRead{}).(bool)
	return once
}

type patience struct{}

// WithPatience marks the questions that are put to a Directory under the context as some that it may put off, with a
// *RetryError, for those of others; or takes the mark away. Service.Submit and a Worker put so the questions whether
// somebody may start a run, of which there are as many at once as there are people who mention the bot. A Directory may
// ignore it.
func WithPatience(ctx context.Context, patient bool) context.Context {
	if Patient(ctx) == patient {
		return ctx
	}
	return context.WithValue(ctx, patience{}, patient)
}

// Patient reports whether the context was marked by WithPatience.
func Patient(ctx context.Context) bool {
	patient, _ := ctx.Value(patience{}).(bool)
	return patient
}

type arrival struct{}

// mostOld is how long ago a decision may have arrived for what was found out since to be as new as it has to be.
const mostOld = time.Second

// ArrivedAt says when the decision that is made under the context reached this program, by its own clock. What the
// decision rests on is asked of the directory at that moment or later, instead of after the call: decisions that arrive
// together then share their questions, which the directory may ration, however long each takes to be read. Of more than
// a second ago, and of a moment to come, it says nothing.
func ArrivedAt(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, arrival{}, at)
}

// Arrival returns what ArrivedAt said of the context, or now where that says nothing.
func Arrival(ctx context.Context, now time.Time) time.Time {
	at, ok := ctx.Value(arrival{}).(time.Time)
	if ok && !at.After(now) && now.Sub(at) <= mostOld {
		return at
	}
	return now
}

// Deferrer is implemented by stores in which updates that wait at the same time share a write.
type Deferrer interface {
	// UpdateSoon is Update for what nobody waits for: fn may run some milliseconds later, together with what others
	// write then. Like Update it returns when the changes are durable.
	UpdateSoon(ctx context.Context, fn func(Tx) error) error
}

// Timed is implemented by stores that can tell their time without a transaction.
type Timed interface {
	// Now returns what Tx.Now would in a transaction that began now, as far as that is known here: where the clock is
	// a server's, what has passed since it was asked last is counted in this process. It takes part in never going
	// back.
	Now() time.Time
}

// Clock is implemented by stores whose time can become doubtful while they are open.
type Clock interface {
	// UncertainSince returns the newest instant, on the store's clock, at which the clock was found to be wrong; zero
	// when it never was. How long ago something before that instant happened cannot be told.
	UncertainSince() time.Time
}

// Replicated is implemented by stores that several processes may write to at a time.
type Replicated interface {
	// Replicas is about how many do, this one included: one that comes or goes is noticed within a minute.
	Replicas() int
}

// Tx is a transaction. Records passed in and handed out are the caller's own: a store neither keeps nor shares them. It
// is for the goroutine of its closure; once that has returned, every method returns an error and does nothing. Methods
// take part in the deadline and cancellation of the context that View or Update was called with.
//
//   - Getters return ErrNotFound for what is not there; lists are empty instead, and so are lists with a limit of zero
//     or less. Lists are in the order of the bytes of their keys unless they say otherwise.
//   - Deleting what is not there succeeds and changes nothing.
//   - Putting a record that lacks its workspace or a part of its id is ErrInvalid.
//   - Puts may be deferred to the end of the closure; reads of the same transaction see them. An error that takes a
//     look at the data may then come from the next read, or from Update; after it the transaction can only fail.
//   - Raw JSON (arguments, audit data, outputs, states, sessions) comes back byte for byte. Within a record it has no
//     white space between its parts; states and sessions are any bytes.
//   - Two places that differ in Direct alone are one place.
//   - Ids and texts are UTF-8, and times are zero or whole microseconds of the years 1970 to 2261, in any zone. Of
//     others a store need not tell apart what differs in them alone.
type Tx interface {
	// Now returns the store's time, in UTC and whole microseconds: one clock for all who use the store, the same at
	// every call within a transaction. It never goes back while the store is open, and in a store that is Exclusive
	// every Update has a later time than the ones before it. It follows the wall clock as long as that agrees, within
	// five minutes, with the monotonic time since the store was opened; past that the store logs an alert and goes on
	// with monotonic time. A wall clock that is behind the newest record when the store is opened raises an alert too
	// and is used as it is: time is never taken from records.
	Now() time.Time

	RunTx
	InputTx
	StateTx
	RequestTx
	CallbackTx
	EffectTx
	GrantTx
	AuditTx
	OutboxTx
	SessionTx
	JobTx
	InstallationTx
}

// RunTx keeps runs.
type RunTx interface {
	Run(ws WorkspaceID, id RunID) (*Run, error)
	PutRun(r *Run) error
	// ActiveRun returns the run of the place that has not ended, or ErrNotFound.
	ActiveRun(ws WorkspaceID, p Place) (*Run, error)
	// ActiveRuns counts the runs that have not ended, of a requester (channel "") or in a channel (requester "").
	ActiveRuns(ws WorkspaceID, requester UserID, channel string) (int, error)
	// LapsedLeases lists runs of all workspaces that are queued, or running with a lease that ended at or before the
	// instant, or that ends after the latest instant at which a lease can: they need a worker, or may. At most limit.
	// Its cost depends on how many runs are queued or running.
	LapsedLeases(at, latest time.Time, limit int) ([]RunKey, error)
	// QueryRuns lists the runs that match, by id. Its pages are like those of QueryRequests. For a RunQuery.Status of
	// runs that have not ended the cost never depends on how many have.
	QueryRuns(q RunQuery) (page []*Run, next RunID, err error)
	// EndedRuns lists runs of the workspace that ended before the instant, the earliest end first, at most limit.
	EndedRuns(ws WorkspaceID, before time.Time, limit int) ([]RunID, error)
	// DeleteRun removes a run with its effects and state. Its requests and their callbacks, the audit trail, the
	// place's memory, queued input and the outbox stay.
	DeleteRun(ws WorkspaceID, id RunID) error
	// Once records the key of an event and reports whether it was new. Keys are kept per workspace. A key is new again
	// when the transaction that recorded it fails.
	Once(ws WorkspaceID, key string, now time.Time) (bool, error)
	// Events lists the keys that Once has recorded, behind the given one, at most limit.
	Events(ws WorkspaceID, after string, limit int) ([]Event, error)
	// DeleteEvent forgets a key: it is new again.
	DeleteEvent(ws WorkspaceID, key string) error
}

// Event is a key that Once has recorded, and the instant that it was given.
type Event struct {
	Key string
	At  time.Time
}

// RunKey names a run.
type RunKey struct {
	Workspace WorkspaceID
	Run       RunID
	Place     Place
}

// InputTx keeps what people wrote in a place while a run of it was under way.
type InputTx interface {
	// PutInput adds or replaces a message. Its key is workspace, place and id.
	PutInput(in *QueuedInput) error
	// Inputs lists the messages of the place by id, at most limit.
	Inputs(ws WorkspaceID, p Place, limit int) ([]*QueuedInput, error)
	DeleteInput(in *QueuedInput) error
}

// StateTx keeps serialized run states as a head and append-only chunks.
type StateTx interface {
	// State returns the head and the chunks in order; ErrNotFound when the run has none.
	State(ws WorkspaceID, run RunID) (head json.RawMessage, chunks []json.RawMessage, err error)
	// StateTail returns the newest chunks in order, as many whole ones as fit into so many bytes, and how many older
	// ones there are. It reads no more than that. ErrNotFound when the run has no state.
	StateTail(ws WorkspaceID, run RunID, bytes int) (chunks []json.RawMessage, older int, err error)
	// PutState replaces the head and, when d.Count > 0, appends d.Items as the chunk that starts at d.From. A chunk
	// that starts there already, and all behind it, are replaced. A negative From or Count is ErrInvalid.
	PutState(ws WorkspaceID, run RunID, d agent.Delta) error
	// DeleteState removes the head and up to limit chunks, the oldest first, and reports whether chunks are left. A
	// limit of zero or less removes all.
	DeleteState(ws WorkspaceID, run RunID, limit int) (more bool, err error)
}

// RequestTx keeps requests. What a request is asked about (RequestContent) is written once; what becomes of it
// (RequestHead) is small and written often.
type RequestTx interface {
	Request(ws WorkspaceID, id RequestID) (*Request, error)
	// Requests returns the requests with these ids, in that order; those that are not there are left out, and one that
	// is named twice is there twice.
	Requests(ws WorkspaceID, ids []RequestID) ([]*Request, error)
	// RequestHead returns what becomes of a request without what it asks about.
	RequestHead(ws WorkspaceID, id RequestID) (*RequestHead, error)
	// PutRequest writes a request whole.
	PutRequest(r *Request) error
	// PutRequestHead replaces the head of a request that is there; ErrNotFound when it is not.
	PutRequestHead(r *RequestHead) error
	// QueryRequests lists the heads of requests that match, by id. One call looks at a bounded number of records, so a
	// page can be short, or empty, and yet not be the last: next is where to go on (RequestQuery.After), empty at the
	// end. For RequestQuery.Status RequestPending the cost never depends on how many requests were decided, and
	// pending ones that a query for settled requests passes over count little, however many there are.
	QueryRequests(q RequestQuery) (page []*RequestHead, next RequestID, err error)
	// RequestsOfRun lists the heads of a run's requests by id.
	RequestsOfRun(ws WorkspaceID, run RunID) ([]*RequestHead, error)
	// RequestsOfRuns lists the heads of the requests of several runs, run after run in the given order, those of each
	// by id. Like Requests, it costs one read of the store, however many are asked for.
	RequestsOfRuns(ws WorkspaceID, runs []RunID) ([]*RequestHead, error)
	// PendingOf counts the pending requests of a requester.
	PendingOf(ws WorkspaceID, requester UserID) (int, error)
	// DeleteRequest removes a request, whole, with its callback. Its run need not be there any more.
	DeleteRequest(ws WorkspaceID, id RequestID) error
}

// RequestQuery selects requests of a workspace. Empty fields match everything.
type RequestQuery struct {
	Workspace  WorkspaceID
	Status     RequestStatus
	Person     UserID // who asked, or decided
	Tool       string
	Agent      string
	Channel    string
	Run        RunID
	Unreviewed bool      // decided past the policy, and nobody has reviewed that
	Settled    bool      // of any status but pending
	From, To   time.Time // created at or after From and before To
	Newest     bool      // the greatest ids, which are the newest requests, come first
	After      RequestID // continue behind this one, in the order of the list
	Limit      int
}

// Matches reports whether the query selects the request, apart from After and Limit.
func (q *RequestQuery) Matches(r *RequestHead) bool {
	switch {
	case r.Workspace != q.Workspace,
		q.Status != "" && r.Status != q.Status,
		q.Tool != "" && r.Tool.Name != q.Tool,
		q.Agent != "" && r.Agent != q.Agent,
		q.Channel != "" && r.Place.Channel != q.Channel,
		q.Run != "" && r.Run != q.Run,
		q.Unreviewed && !r.AwaitsReview(),
		q.Settled && r.Status == RequestPending,
		!q.From.IsZero() && r.Created.Before(q.From),
		!q.To.IsZero() && !r.Created.Before(q.To):
		return false
	}
	return q.Person == "" || r.Requester == q.Person || r.decidedBy(q.Person) != nil
}

// CallbackTx keeps the callbacks of requests, one for each at most.
type CallbackTx interface {
	Callback(ws WorkspaceID, id RequestID) (*Callback, error)
	// PutCallback adds the callback of a request or replaces it. DeleteRequest deletes it.
	PutCallback(k *Callback) error
}

// EffectTx keeps the journal.
type EffectTx interface {
	Effect(ws WorkspaceID, run RunID, id string) (*EffectRecord, error)
	PutEffect(e *EffectRecord) error
	// EffectsOfRun lists the effects of a run by id.
	EffectsOfRun(ws WorkspaceID, run RunID) ([]*EffectRecord, error)
}

// AuditTx keeps the audit trail: entries are appended in the transaction of what they tell, and linked into the
// workspace's chain then (stores that are Exclusive) or a little later by the sealer.
type AuditTx interface {
	// AppendAudit appends entries of one workspace. With Seq zero an entry is not sealed yet; its ID must be new. A
	// sealed entry continues the chain: its Seq must be the head's plus one, 1 for the first. Anything else is
	// ErrInvalid.
	AppendAudit(entries ...*AuditEntry) error
	// UnsealedAudit lists the entries that are not sealed, by ID, at most limit.
	UnsealedAudit(ws WorkspaceID, limit int) ([]*AuditEntry, error)
	// SealAudit replaces unsealed entries by their sealed form, which has the same ID and continues the chain;
	// ErrInvalid when it does not, ErrNotFound for an ID that is not among the unsealed.
	SealAudit(entries ...*AuditEntry) error
	// AuditHead returns the newest sealed entry of the workspace, or ErrNotFound.
	AuditHead(ws WorkspaceID) (*AuditEntry, error)
	// AuditEntries lists sealed entries from seq on, at most limit.
	AuditEntries(ws WorkspaceID, seq uint64, limit int) ([]*AuditEntry, error)
	// AuditWorkspaces lists the workspaces that have entries, sealed or not.
	AuditWorkspaces() ([]WorkspaceID, error)
	// RecordedWorkspaces lists the workspaces that have requests or grants, whether or not they have entries.
	RecordedWorkspaces() ([]WorkspaceID, error)
}

// OutboxTx keeps notifications until they are delivered. Each is one copy for one audience: copies for different
// audiences of a place are delivered independently of each other.
type OutboxTx interface {
	// PutNotification adds or replaces a notification. Its key is workspace, place, copy and id. One with Dead set is a
	// dead letter: it leaves its queue. One whose Created is the time of the transaction is new: no store need look for
	// a dead letter with its key.
	PutNotification(n *Notification) error
	// Notifications lists the notifications that wait for the copy of the place by id, at most limit.
	Notifications(ws WorkspaceID, p Place, copy Copy, limit int) ([]*Notification, error)
	// DeleteNotification removes a notification, waiting or dead.
	DeleteNotification(n *Notification) error
	// UndeliveredPlaces lists copies of places, of all workspaces, for which notifications wait that were created
	// before the one instant, or after the other, when nothing can have been; at most limit.
	UndeliveredPlaces(before, latest time.Time, limit int) ([]CopyKey, error)
	// Undelivered counts the notifications, of all workspaces, that wait, and returns when the oldest of them was
	// created; zero when none does. It stops at the limit, and then counts some of them.
	Undelivered(limit int) (n int, oldest time.Time, err error)
	// DeadLetters lists the dead letters of the workspace by id, behind the given one, at most limit.
	DeadLetters(ws WorkspaceID, after NotificationID, limit int) ([]*Notification, error)
}

// CopyKey names a queue of the outbox.
type CopyKey struct {
	Workspace WorkspaceID
	Place     Place
	Copy      Copy
}

// SessionTx keeps the memory of conversations across runs.
type SessionTx interface {
	// SessionTail returns the newest chunks of the place in the order they were appended: as many whole ones as fit
	// into so many bytes, but the newest in any case; and how many older ones there are. It reads no more than that.
	SessionTail(ws WorkspaceID, p Place, bytes int) (chunks []json.RawMessage, older int, err error)
	// AppendSession appends items (a JSON array) under the key; appending under the same key again changes nothing.
	AppendSession(ws WorkspaceID, p Place, key string, items json.RawMessage) error
	// Sessions lists the places of the workspace that have chunks, by surface, channel and thread, behind the given
	// one, at most limit. Place.Direct is not known of them.
	Sessions(ws WorkspaceID, after Place, limit int) ([]Place, error)
	// SessionAppended returns when AppendSession last added to the place, by Now; ErrNotFound when it has no chunks.
	// Zero: an earlier version of the program did, which did not note the time.
	SessionAppended(ws WorkspaceID, p Place) (time.Time, error)
	// DeleteSession removes the place's chunks and keys.
	DeleteSession(ws WorkspaceID, p Place) error
}

// InstallationTx keeps where the app is installed, one record for each workspace.
type InstallationTx interface {
	Installation(ws WorkspaceID) (*Installation, error)
	// Installations lists the installations of all workspaces by id, behind the given one, at most limit.
	Installations(after WorkspaceID, limit int) ([]*Installation, error)
	// PutInstallation adds the installation of a workspace or replaces it, whole: nothing of the token before it stays.
	PutInstallation(i *Installation) error
}
