package transfer

// Version is the version of the stream. A move that another version has begun is not gone on with.
const Version = 1

// Kind is a kind of record.
type Kind string

// The kinds of records.
const (
	KindAudit        Kind = "audit entries"
	KindUnsealed     Kind = "unsealed audit entries"
	KindInstallation Kind = "installations"
	KindGrant        Kind = "grants"
	KindRun          Kind = "runs"
	KindState        Kind = "states"
	KindStateChunk   Kind = "chunks of states"
	KindRequest      Kind = "requests"
	KindCallback     Kind = "callbacks"
	KindEffect       Kind = "effects"
	KindInput        Kind = "queued inputs"
	KindEvent        Kind = "events"
	KindSessionChunk Kind = "chunks of sessions"
	KindSessionKey   Kind = "keys of sessions"
	KindNotification Kind = "notifications"
	KindDeadLetter   Kind = "dead letters"
	KindJob          Kind = "jobs"
	KindCounter      Kind = "counters"
)

// Kinds returns all kinds in the order in which they are moved. The audit trail is first: a chain that does not hold
// ends the move before it has cost anything. Keys of sessions are before their chunks: a store may keep both as one.
func Kinds() []Kind {
	return []Kind{
		KindAudit, KindUnsealed, KindInstallation, KindGrant, KindRun, KindState, KindStateChunk, KindRequest,
		KindCallback, KindEffect, KindInput, KindEvent, KindSessionKey, KindSessionChunk, KindNotification,
		KindDeadLetter, KindJob, KindCounter,
	}
}
