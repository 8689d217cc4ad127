package transfer

import (
	"encoding/json"
	"time"

	"countersign/approvals"
)

// Record is one thing that a store keeps: one of the types of this file.
type Record interface {
	Kind() Kind
	// Key has the same number of parts for all records of a kind.
	Key() Key
}

// Run is a run. Its state, requests and effects are records of their own.
type Run struct{ *approvals.Run }

// Request is a request, its head and what it asks about.
type Request struct{ *approvals.Request }

// Effect is an entry of the journal.
type Effect struct{ *approvals.EffectRecord }

// Grant is a grant, also one that has ended.
type Grant struct{ *approvals.Grant }

// Callback is the callback of a request.
type Callback struct{ *approvals.Callback }

// Input is what somebody wrote while a run was under way.
type Input struct{ *approvals.QueuedInput }

// Installation is the app in a workspace, with its token.
type Installation struct{ *approvals.Installation }

// Audit is an entry of a chain, with its number and hashes.
type Audit struct{ *approvals.AuditEntry }

// Unsealed is an audit entry that waits for the sealer.
type Unsealed struct{ *approvals.AuditEntry }

// Notification waits to be delivered. It has its attempts; who was at work on it is no longer.
type Notification struct{ *approvals.Notification }

// DeadLetter is a notification that was given up.
type DeadLetter struct{ *approvals.Notification }

// State is the head of a run's saved state.
type State struct {
	Workspace approvals.WorkspaceID
	Run       approvals.RunID
	Head      json.RawMessage
}

// StateChunk is one of the chunks of a run's saved state: it begins with the item From.
type StateChunk struct {
	Workspace approvals.WorkspaceID
	Run       approvals.RunID
	From      uint64
	Items     json.RawMessage
}

// Event is an event that came once, and when, in whole microseconds.
type Event struct {
	Workspace approvals.WorkspaceID
	Name      string
	At        time.Time
}

// SessionChunk is a chunk of a place's memory. Those of a place are numbered from zero.
type SessionChunk struct {
	Workspace approvals.WorkspaceID
	Place     approvals.Place // without Direct, which no store knows of a session
	N         uint64
	Items     json.RawMessage
}

// SessionKey is a key under which something was appended to a place's memory, and when, in whole microseconds; zero
// where an early version of the program did not note the time. Those of a place are ordered by that time. Each chunk
// has its key, and which is whose no store has to know.
type SessionKey struct {
	Workspace approvals.WorkspaceID
	Place     approvals.Place
	Name      string
	At        time.Time
}

// Job is a job that is planned. No handler is at work on it: whoever was has died. It is due at a whole microsecond,
// and not before NotBefore.
type Job struct {
	approvals.Job
	NotBefore time.Time // a handler asked for a pause until then; zero: none did
}

// Counter is the generation that the newest of all jobs was given: later ones have to get greater ones. A store has
// one.
type Counter struct{ Generation uint64 }

func (r Run) Kind() Kind          { return KindRun }
func (r Request) Kind() Kind      { return KindRequest }
func (r Effect) Kind() Kind       { return KindEffect }
func (r Grant) Kind() Kind        { return KindGrant }
func (r Callback) Kind() Kind     { return KindCallback }
func (r Input) Kind() Kind        { return KindInput }
func (r Installation) Kind() Kind { return KindInstallation }
func (r Audit) Kind() Kind        { return KindAudit }
func (r Unsealed) Kind() Kind     { return KindUnsealed }
func (r Notification) Kind() Kind { return KindNotification }
func (r DeadLetter) Kind() Kind   { return KindDeadLetter }
func (r State) Kind() Kind        { return KindState }
func (r StateChunk) Kind() Kind   { return KindStateChunk }
func (r Event) Kind() Kind        { return KindEvent }
func (r SessionChunk) Kind() Kind { return KindSessionChunk }
func (r SessionKey) Kind() Kind   { return KindSessionKey }
func (r Job) Kind() Kind          { return KindJob }
func (r Counter) Kind() Kind      { return KindCounter }

func (r Run) Key() Key          { return Key{string(r.Workspace), string(r.ID)} }
func (r Request) Key() Key      { return Key{string(r.Workspace), string(r.ID)} }
func (r Effect) Key() Key       { return Key{string(r.Workspace), string(r.Run), r.ID} }
func (r Grant) Key() Key        { return Key{string(r.Workspace), string(r.ID)} }
func (r Callback) Key() Key     { return Key{string(r.Workspace), string(r.Request)} }
func (r Input) Key() Key        { return placed(r.Workspace, r.Place, string(r.ID)) }
func (r Installation) Key() Key { return Key{string(r.Workspace)} }
func (r Audit) Key() Key        { return Key{string(r.Workspace), number(r.Seq)} }
func (r Unsealed) Key() Key     { return Key{string(r.Workspace), string(r.ID)} }
func (r Notification) Key() Key { return placed(r.Workspace, r.Place, string(r.Copy), string(r.ID)) }
func (r State) Key() Key        { return Key{string(r.Workspace), string(r.Run)} }
func (r StateChunk) Key() Key   { return Key{string(r.Workspace), string(r.Run), number(r.From)} }
func (r Event) Key() Key        { return Key{string(r.Workspace), r.Name} }
func (r SessionChunk) Key() Key { return placed(r.Workspace, r.Place, number(r.N)) }
func (r Job) Key() Key          { return Key{string(r.Workspace), r.ID, string(r.Job.Kind)} }
func (r Counter) Key() Key      { return Key{"generation"} }

// Key orders the keys of a place by their time.
func (r SessionKey) Key() Key {
	var at uint64
	if !r.At.IsZero() {
		at = uint64(max(r.At.UnixMicro(), 0))
	}
	return placed(r.Workspace, r.Place, number(at), r.Name)
}

// Key begins with the id, as the list of dead letters does.
func (r DeadLetter) Key() Key {
	return Key{
		string(r.Workspace), string(r.ID), r.Place.Surface, r.Place.Channel, r.Place.Thread, string(r.Copy),
	}
}

// Microsecond returns the first whole microsecond that is not before t, in UTC.
func Microsecond(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond).UTC()
}

func placed(ws approvals.WorkspaceID, p approvals.Place, more ...string) Key {
	return append(Key{string(ws), p.Surface, p.Channel, p.Thread}, more...)
}
