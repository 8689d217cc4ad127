package approvals

import (
	"encoding/json"
	"time"

	"countersign/agent"
)

// AuditEntry is one link of a workspace's audit chain. Entries are only ever appended.
type AuditEntry struct {
	Workspace WorkspaceID `json:"workspace"`
	Seq       uint64      `json:"seq"` // from 1, without gaps
	At        time.Time   `json:"at"`
	Action    AuditAction `json:"action"`
	Actor     string      `json:"actor"` // a UserID, or "system"
	Run       RunID       `json:"run,omitempty"`
	Request   RequestID   `json:"request,omitempty"`
	// Data holds the facts of the action as a JSON object: digests, verdicts, statuses; never arguments or secrets.
	Data json.RawMessage `json:"data,omitempty"`
	Prev agent.Digest    `json:"prev"` // Hash of the entry before; zero for the first
	Hash agent.Digest    `json:"hash"` // over everything above
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
	AuditRequestCreated   AuditAction = "request.created"
	AuditRequestUnmet     AuditAction = "request.unmet" // the policy cannot be met; nobody was asked
	AuditRequestApproved  AuditAction = "request.approved"
	AuditRequestRejected  AuditAction = "request.rejected"
	AuditRequestExpired   AuditAction = "request.expired"
	AuditRequestCancelled AuditAction = "request.cancelled"
	AuditRequestStale     AuditAction = "request.stale"
	AuditDecision         AuditAction = "decision.recorded"
	AuditDecisionRefused  AuditAction = "decision.refused"
	AuditEffectIntent     AuditAction = "effect.intent"
	AuditEffectDone       AuditAction = "effect.done"
	AuditUndeliverable    AuditAction = "notification.undeliverable"
)
