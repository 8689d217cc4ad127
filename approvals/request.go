package approvals

import (
	"encoding/json"
	"slices"
	"time"

	"countersign/agent"
)

// RequestStatus is where a request stands.
type RequestStatus string

// The statuses of requests. docs/state-machine.md shows the moves between them; requestMoves is the same table.
const (
	RequestPending   RequestStatus = "pending"
	RequestApproved  RequestStatus = "approved"
	RequestRejected  RequestStatus = "rejected"
	RequestExpired   RequestStatus = "expired"
	RequestCancelled RequestStatus = "cancelled"
	RequestStale     RequestStatus = "stale"
)

// Request is a durable question to people about one tool call. What is shown to people and what is executed both come
// from here; Arguments, Definition and Digest never change after creation.
type Request struct {
	Workspace WorkspaceID `json:"workspace"`
	ID        RequestID   `json:"id"`
	Run       RunID       `json:"run"`
	Place     Place       `json:"place"`
	Requester UserID      `json:"requester"`

	Kind         agent.InterruptionKind `json:"kind"`
	Interruption string                 `json:"interruption"` // agent.Interruption.ID
	Agent        string                 `json:"agent"`
	Path         []string               `json:"path"`
	Tool         ToolSnapshot           `json:"tool"`
	Arguments    json.RawMessage        `json:"arguments"` // canonical JSON
	Definition   agent.Digest           `json:"definition"`
	Digest       agent.Digest           `json:"digest"`

	Requirement Requirement   `json:"requirement"` // the policy's answer when the request was created
	Status      RequestStatus `json:"status"`
	Version     int64         `json:"version"`
	Decisions   []Decision    `json:"decisions,omitempty"` // in order of commit; one per person
	// Note says why a request ended otherwise than by as many answers as it takes.
	Note string `json:"note,omitempty"`
	// CancelledBy is the person who cancelled the request's run, if one did.
	CancelledBy UserID `json:"cancelled_by,omitempty"`
	// Applied says that the run has taken over how the request ended.
	Applied bool      `json:"applied,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Settled time.Time `json:"settled,omitzero"`
	// Cards are the messages that show the request.
	Cards []Card `json:"cards,omitempty"`
	// Facts are what the call depends on in the world, as agent.Tool.Bind determined them; they are part of Digest.
	Facts []string `json:"facts,omitempty"`
	// Explanation takes the call apart for people, line by line; nothing is bound to it.
	Explanation []string `json:"explanation,omitempty"`
}

// ToolSnapshot is what people are told about the tool of a request.
type ToolSnapshot struct {
	Name        string         `json:"name"`
	Kind        agent.ToolKind `json:"kind"`
	Description string         `json:"description,omitempty"`
	Version     string         `json:"version,omitempty"`
	// Binding is agent.Tool.Binding, for http for instance method, URL and header names, unexpanded. Of a hosted MCP server
	// "server_label L" and "server_url U" or "connector_id C" come before it.
	Binding []string `json:"binding,omitempty"`
}

// Card is a message on a surface that shows a request.
type Card struct {
	Channel string `json:"channel"`
	Message string `json:"message"` // the surface's id of the message
}

// Settler returns the decision that settled the request, or nil. A request whose quorum came out of reach was settled by
// the last person who declined.
func (r *Request) Settler() *Decision {
	if r.Status != RequestApproved && r.Status != RequestRejected {
		return nil
	}
	for i, d := range slices.Backward(r.Decisions) {
		if d.Verdict.Affirms() == (r.Status == RequestApproved) {
			return &r.Decisions[i]
		}
	}
	return nil
}
