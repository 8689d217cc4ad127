package boltstore

// The buckets. doc.go describes their keys and values.
var (
	bucketMeta       = []byte("meta")
	bucketRuns       = []byte("runs")
	bucketPlaces     = []byte("runs_active_place")
	bucketRequesters = []byte("runs_active_requester")
	bucketChannels   = []byte("runs_active_channel")
	bucketOnce       = []byte("once")
	bucketStates     = []byte("states")
	bucketChunks     = []byte("state_chunks")
	bucketRequests   = []byte("requests")
	bucketPending    = []byte("requests_pending")
	bucketOfRun      = []byte("requests_run")
	bucketEffects    = []byte("effects")
	bucketAudit      = []byte("audit")
	bucketOutbox     = []byte("outbox")
	bucketSessions   = []byte("sessions")
	bucketSessionKey = []byte("session_keys")
	bucketJobs       = []byte("jobs")
	bucketJobsDue    = []byte("jobs_due")
)

// buckets lists all of them; sealed says whether the values carry a checksum; the others are indexes.
var buckets = []struct {
	name   []byte
	sealed bool
}{
	{bucketMeta, true},
	{bucketRuns, true}, {bucketPlaces, false}, {bucketRequesters, false}, {bucketChannels, false},
	{bucketOnce, true},
	{bucketStates, true}, {bucketChunks, true},
	{bucketRequests, true}, {bucketPending, false}, {bucketOfRun, false},
	{bucketEffects, true},
	{bucketAudit, true},
	{bucketOutbox, true},
	{bucketSessions, true}, {bucketSessionKey, true},
	{bucketJobs, true}, {bucketJobsDue, false},
}

// fillPercent is how full pages are left when they split. Most keys arrive in order, so pages need little room.
const fillPercent = 0.85
