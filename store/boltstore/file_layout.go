package boltstore

// The buckets. doc.go describes their keys and values.
var (
	bucketMeta         = []byte("meta")
	bucketRuns         = []byte("runs")
	bucketPlaces       = []byte("runs_active_place")
	bucketRequesters   = []byte("runs_active_requester")
	bucketChannels     = []byte("runs_active_channel")
	bucketEnded        = []byte("runs_ended")
	bucketContents     = []byte("request_contents")
	bucketRequests     = []byte("requests")
	bucketPending      = []byte("requests_pending")
	bucketOnce         = []byte("once")
	bucketInputs       = []byte("inputs")
	bucketStates       = []byte("states")
	bucketChunks       = []byte("state_chunks")
	bucketEffects      = []byte("effects")
	bucketGrants       = []byte("grants")
	bucketGrantsOpen   = []byte("grants_open")
	bucketAudit        = []byte("audit")
	bucketUnsealed     = []byte("audit_unsealed")
	bucketAuditIDs     = []byte("audit_ids")
	bucketSessions     = []byte("sessions")
	bucketSessionKey   = []byte("session_keys")
	bucketQueue        = []byte("queue")
	bucketScheduled    = []byte("scheduled")
	bucketScheduledDue = []byte("scheduled_due")
	bucketDead         = []byte("dead_letters")
	bucketCallbacks    = []byte("callbacks")

	bucketInstallations = []byte("installations")
)

// bucketInfo describes a bucket.
type bucketInfo struct {
	name   []byte
	sealed bool // the values carry a checksum or are encrypted; otherwise it is an index
	// added says that files of this format may lack the bucket, because it was added to the format later. Open makes
	// it.
	added bool
}

// buckets lists all of them.
var buckets = []bucketInfo{
	{name: bucketMeta, sealed: true},
	{name: bucketRuns, sealed: true},
	{name: bucketPlaces}, {name: bucketRequesters}, {name: bucketChannels}, {name: bucketEnded},
	{name: bucketContents, sealed: true}, {name: bucketRequests}, {name: bucketPending, sealed: true},
	{name: bucketOnce, sealed: true},
	{name: bucketInputs, sealed: true},
	{name: bucketStates, sealed: true}, {name: bucketChunks, sealed: true},
	{name: bucketEffects, sealed: true},
	{name: bucketAudit, sealed: true}, {name: bucketUnsealed, sealed: true}, {name: bucketAuditIDs},
	{name: bucketSessions, sealed: true}, {name: bucketSessionKey, sealed: true},
	{name: bucketQueue, sealed: true},
	{name: bucketScheduled, sealed: true}, {name: bucketScheduledDue},
	{name: bucketDead, sealed: true},
	{name: bucketCallbacks, sealed: true, added: true},
	{name: bucketGrants, sealed: true, added: true}, {name: bucketGrantsOpen, added: true},
	{name: bucketInstallations, sealed: true, added: true},
}

// fillPercent is how full pages are left when they split. Most keys arrive in order, so pages need little room.
const fillPercent = 0.85
