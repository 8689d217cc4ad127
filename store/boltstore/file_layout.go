package boltstore

// The buckets. doc.go describes their keys and values.
var (
	bucketMeta       = []byte("meta")
	bucketRuns       = []byte("runs")
	bucketPlaces     = []byte("runs_active_place")
	bucketRequesters = []byte("runs_active_requester")
	bucketChannels   = []byte("runs_active_channel")
	bucketRequests   = []byte("requests")
	bucketPending    = []byte("requests_pending")
	bucketOnce       = []byte("once")
	bucketStates     = []byte("states")
	bucketChunks     = []byte("state_chunks")
	bucketEffects    = []byte("effects")
	bucketAudit      = []byte("audit")
	bucketSessions   = []byte("sessions")
	bucketSessionKey = []byte("session_keys")
	bucketWork       = []byte("work")
	bucketLater      = []byte("later")
	bucketLaterDue   = []byte("later_due")
)

// buckets lists all of them; sealed says whether the values carry a checksum; the others are indexes.
var buckets = []struct {
	name   []byte
	sealed bool
}{
	{bucketMeta, true},
	{bucketRuns, true}, {bucketPlaces, false}, {bucketRequesters, false}, {bucketChannels, false},
	{bucketRequests, false}, {bucketPending, false},
	{bucketOnce, true},
	{bucketStates, true}, {bucketChunks, true},
	{bucketEffects, true},
	{bucketAudit, true},
	{bucketSessions, true}, {bucketSessionKey, true},
	{bucketWork, true},
	{bucketLater, true}, {bucketLaterDue, false},
}

// fillPercent is how full pages are left when they split. Most keys arrive in order, so pages need little room.
const fillPercent = 0.85
