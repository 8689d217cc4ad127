package approvals

import (
	"encoding/json"
	"time"

	"countersign/agent"
)

// AuditEntry is one entry of a workspace's audit trail. Entries are only ever appended; sealing gives an entry its
// place in the chain.
type AuditEntry struct {
	Workspace WorkspaceID `json:"workspace"`
	Seq       uint64      `json:"seq"` // from 1, without gaps; 0: not sealed yet
	At        time.Time   `json:"at"`  // on the store's clock; the order of the chain does not depend on it
	Action    AuditAction `json:"action"`
	Actor     string      `json:"actor"` // a UserID, or "system"
	Run       RunID       `json:"run,omitempty"`
	Request   RequestID   `json:"request,omitempty"`
	// Data holds the facts of the action as a JSON object: digests, verdicts, statuses; never arguments or secrets.
	Data json.RawMessage `json:"data,omitempty"`
	Prev agent.Digest    `json:"prev"` // Hash of the entry before; zero for the first
	Hash agent.Digest    `json:"hash"` // over Seq, Prev and Content

	// ID names the entry and sorts by time. Entries of the trail's first form have none.
	ID AuditID `json:"id,omitempty"`
	// Content is the digest of everything but Seq, Prev and Hash. Entries of the trail's first form have none: their
	// Hash is over all fields.
	Content agent.Digest `json:"content,omitzero"`
}

// AuditAction names what happened.
type AuditAction string

// The actions of the audit trail.
const (
	AuditRunSubmitted     AuditAction = "run.submitted"
	AuditRunRefused       AuditAction = "run.refused"
	AuditInputQueued      AuditAction = "run.input_queued"
	AuditRunClaimed       AuditAction = "run.claimed"
	AuditRunWaiting       AuditAction = "run.waiting"
	AuditRunRequeued      AuditAction = "run.requeued"
	AuditRunDone          AuditAction = "run.done"
	AuditRunFailed        AuditAction = "run.failed"
	AuditRunCancelled     AuditAction = "run.cancelled"
	AuditRunRetried       AuditAction = "run.retried" // somebody had its input submitted once more
	AuditRequestCreated   AuditAction = "request.created"
	AuditRequestUnmet     AuditAction = "request.unmet" // the policy cannot be met; nobody was asked
	AuditRequestApproved  AuditAction = "request.approved"
	AuditRequestRejected  AuditAction = "request.rejected"
	AuditRequestExpired   AuditAction = "request.expired"
	AuditRequestCancelled AuditAction = "request.cancelled"
	AuditRequestStale     AuditAction = "request.stale"
	AuditRequestEscalated AuditAction = "request.escalated" // from now on more people may answer it
	AuditRequestReviewed  AuditAction = "request.reviewed"  // of a decision past the policy
	// AuditRequestSuperseded: somebody changed the call's arguments; the data name the request that asks about them.
	AuditRequestSuperseded AuditAction = "request.superseded"
	// AuditRequestRevealed: somebody who may decide was shown the values of secret arguments; the data name these.
	AuditRequestRevealed AuditAction = "request.revealed"
	AuditRevealRefused   AuditAction = "request.reveal_refused" // somebody asked for them and may not have them
	// AuditAskedBack: somebody who may decide asked the requester something first; AuditAnsweredBack: who answered.
	AuditAskedBack       AuditAction = "request.asked_back"
	AuditAnsweredBack    AuditAction = "request.answered_back"
	AuditDecision        AuditAction = "decision.recorded"
	AuditDecisionRefused AuditAction = "decision.refused"
	AuditDecisionVoided  AuditAction = "decision.voided"  // the person had lost the right when it was about to settle
	AuditTrigger         AuditAction = "trigger"          // a call's way to what carries it out: kind is the status
	AuditCallbackIssued  AuditAction = "callback.issued"  // the token of a one-time callback was made
	AuditCallbackRefused AuditAction = "callback.refused" // somebody asked for a token and may not have it
	AuditRequestOutcome  AuditAction = "request.outcome"  // what became of the call, where no effect says so
	AuditEffectIntent    AuditAction = "effect.intent"
	AuditEffectDone      AuditAction = "effect.done"
	AuditEffectUnknown   AuditAction = "effect.unknown" // begun, and nobody knows what came of it
	AuditGrantCreated    AuditAction = "grant.created"
	AuditGrantUsed       AuditAction = "grant.used" // by a call that begins, or that waited when it was given
	AuditGrantRevoked    AuditAction = "grant.revoked"
	AuditGrantRefused    AuditAction = "grant.revocation_refused"
	AuditGrantDenied     AuditAction = "grant.denied"        // a call was rejected by it
	AuditGrantLapsed     AuditAction = "grant.lapsed_at_use" // it had ended when a call was about to begin under it
	AuditUndeliverable   AuditAction = "notification.undeliverable"
	AuditReplayed        AuditAction = "notification.replayed"

	// The app in a workspace; why is "again" where it replaces an installation, or the surface's word for its end.
	AuditInstalled   AuditAction = "installation.created"
	AuditUninstalled AuditAction = "installation.ended"

	// Deletions because of age: the data say before which instant a record must have ended to go.
	AuditRunDeleted     AuditAction = "run.deleted"     // with its effects, its input and its output
	AuditRequestDeleted AuditAction = "request.deleted" // with its arguments and decisions
	AuditSessionDeleted AuditAction = "session.deleted" // the memory of a place
	// AuditRetention is left once a day by the search for old records in a trail that has no other entry.
	AuditRetention AuditAction = "retention.checked"
)
