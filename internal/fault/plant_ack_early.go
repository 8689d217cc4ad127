//go:build plant_ack_early

package fault

// AckBeforeCommit plants a bug for the suite to find: an event is acknowledged before it is stored.
const AckBeforeCommit = true
