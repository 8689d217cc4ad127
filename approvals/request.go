package approvals

import (
	"encoding/json"
	"slices"
	"time"

	"countersign/agent"
	"countersign/agent/toolstatus"
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
	// RequestSuperseded: somebody changed the call's arguments, and another request asks about them.
	RequestSuperseded RequestStatus = "superseded"
)

// Outcome is what became of the call a request is about: the second fact beside its status.
type Outcome string

// The outcomes. docs/state-machine.md shows the moves between them; outcomeMoves is the same table.
const (
	OutcomeNone    Outcome = ""        // not known yet: the request waits, or its approved call has not had its turn
	OutcomeRunning Outcome = "running" // the tool was started
	OutcomeRan     Outcome = "ran"     // carried out, by the tool or, as they reported, by people
	OutcomeFailed  Outcome = "failed"  // carried out without success, as the tool says
	OutcomeNotRun  Outcome = "not run" // it was not carried out under this request, and will not be
	OutcomeUnknown Outcome = "unknown" // started, and nobody knows what came of it
)

// Request is a durable question to people about one tool call. What is shown to people and what is executed both come
// from here.
type Request struct {
	RequestHead
	RequestContent
	// Masked says that this is a copy without the values of secret arguments, made by Mask. It is not stored, nor is
	// such a copy.
	Masked bool `json:"-"`
	// Before is the call of the tool that was approved last, where Service.Precedent was asked. It is not stored.
	Before *Precedent `json:"-"`
}

// RequestContent is what a request asks about, as far as only those need it who show or run the call. It never changes
// after creation, and nothing is looked up by it: a store may keep it apart from the head, compressed or encrypted.
type RequestContent struct {
	Arguments json.RawMessage `json:"arguments"` // canonical JSON
	// Facts are what the call depends on in the world, as agent.Tool.Preconditions determined them. They are a part
	// of Digest.
	Facts []string `json:"facts,omitempty"`
	// Explanation takes the call apart for people, line by line; nothing is bound to it.
	Explanation []string `json:"explanation,omitempty"`
	// Original is what the model wrote, canonical, where people have changed or completed it: Arguments are what would
	// run.
	Original json.RawMessage `json:"original,omitempty"`
	// Fields are what people fill in, in the order of the tool's schema.
	Fields []InputField `json:"fields,omitempty"`

	// Headline says on one line what the call does, as the tool's Headline did, with masks for secret values; empty
	// where the tool has none.
	Headline string `json:"headline,omitempty"`
	// Words are what the requester wrote, at most 200 characters; that they are cut is said in them.
	Words string `json:"words,omitempty"`
	// Order are the names of the arguments in the order of the tool's schema, Schema is that, empty where it is long.
	Order  []string        `json:"order,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	// Like is the call of the tool that was approved last in the run; nil: there is none.
	Like *Likeness `json:"like,omitempty"`
	// Because says why the tool's gate asks, as agent.Tool.Because did; empty where it says nothing.
	Because string `json:"because,omitempty"`
}

// RequestHead is who asks what of whom, and what became of it: what is listed, counted and decided by.
// Definition and Digest never change after creation.
type RequestHead struct {
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
	Definition   agent.Digest           `json:"definition"`
	Digest       agent.Digest           `json:"digest"`

	Requirement Requirement   `json:"requirement"` // the policy's answer when the request was created
	Status      RequestStatus `json:"status"`
	Version     int64         `json:"version"`
	Decisions   []Decision    `json:"decisions,omitempty"` // in order of commit; one per person
	// Note says why a request ended otherwise than by as many answers as it takes.
	Note string `json:"note,omitempty"`
	// CancelledBy is the person who cancelled the request's run, if one did before the request was settled, or before
	// its approved call had begun.
	CancelledBy UserID `json:"cancelled_by,omitempty"`
	// Applied says that the run has taken over how the request ended.
	Applied bool      `json:"applied,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Settled time.Time `json:"settled,omitzero"`
	// Cards are the messages that show the request.
	Cards []Card `json:"cards,omitempty"`

	// Outcome is what became of the call, OutcomeAt since when that is so.
	Outcome   Outcome   `json:"outcome"`
	OutcomeAt time.Time `json:"outcome_at,omitzero"`
	// NextAct is when something happens to the pending request by itself; zero: nothing will.
	NextAct time.Time `json:"next_act,omitzero"`
	// Supersedes is the request that this one replaces, because the arguments were changed or completed; SupersededBy
	// is its opposite.
	Supersedes   RequestID `json:"supersedes,omitempty"`
	SupersededBy RequestID `json:"superseded_by,omitempty"`
	// OutcomeBy is the person who reported the outcome of a call of which nobody had heard: OutcomeAt is when they did
	// so. Empty: it comes from the tool itself.
	OutcomeBy UserID `json:"outcome_by,omitempty"`
	// Trigger is how far the call has come on its way to the system that carries it out; nil where none is told.
	Trigger *TriggerState `json:"trigger,omitempty"`
	// RemindAt is when people are reminded next of the pending request; zero: never.
	RemindAt time.Time `json:"remind_at,omitzero"`
	// Asked is since when the request has waited, where Created was set by a clock that was wrong; zero: Created.
	Asked time.Time `json:"asked,omitzero"`
	// Escalated is when people were told that more of them may answer the request, by the escalation of Requirement;
	// zero: they were not.
	Escalated time.Time `json:"escalated,omitzero"`
	// Review is what somebody else said afterwards of an emergency decision; nil: nobody has yet.
	Review *Review `json:"review,omitempty"`

	// Editors are the people who changed or completed the arguments. As the requester does, they stand behind the call:
	// they decide about it only where the requirement lets the requester.
	Editors []UserID `json:"editors,omitempty"`
	// Inherited is what was demanded of the calls whose place this one took. It has to be met beside Requirement, so
	// that a change of arguments never makes an approval easier.
	Inherited []Requirement `json:"inherited,omitempty"`
	// AskedDigest is the digest of the call that the run itself asks about, where people have changed the arguments
	// since. Zero: it is Digest.
	AskedDigest agent.Digest `json:"asked_digest,omitzero"`
	// Secret names the arguments whose values people are not shown unless they ask, as agent.Tool.Secret did when the
	// request was made; see Request.Mask.
	Secret []string `json:"secret,omitempty"`
	// Revelations are of the people who were shown those values, the first one of each, in order.
	Revelations []Revelation `json:"revelations,omitempty"`
	// AskedBack are the questions that people who may decide have put to the requester, in order.
	AskedBack []AskedBack `json:"asked_back,omitempty"`

	// Called says who is called to the request, and where.
	Called Called `json:"called,omitzero"`

	// OutcomeStatus says in numbers how the call ended, as its tool has told; nothing in earlier records.
	OutcomeStatus toolstatus.Status `json:"outcome_status,omitzero"`

	// Overruled is the request with the next answer for all later calls of the tool in the run, where this one was
	// settled by such an answer: that one holds in its place, whatever the clock said when they were given.
	Overruled RequestID `json:"overruled,omitempty"`

	// AskedAgain is the request that asks about the call once more, since this one became stale; empty: none does yet,
	// or the record is of an earlier version.
	AskedAgain RequestID `json:"asked_again,omitempty"`

	// TriedAgain says that the call was begun once more after nobody could tell whether it had happened, as people had
	// decided in answer to that question: what became of it since is of that try.
	TriedAgain bool `json:"tried_again,omitempty"`

	// Covers are the other waiting requests that a standing answer to this one would settle too, as far as their own
	// policy lets it. It is filled in for pending requests that are shown to people, and not stored.
	Covers []Covered `json:"-"`
	// Progress is what it still takes to approve a pending request, as Service.Progress, or Decide where the policy has
	// changed, has found out; else nil.
	Progress *Progress `json:"-"`
	// Replaced is what was asked next instead of a stale request. It is filled in where Covers is.
	Replaced *Replacement `json:"-"`
	// AsksNow is the last of the requests that have asked, one in the place of the other, what this stale or superseded
	// one did; empty: there is none. It is filled in where Covers is.
	AsksNow RequestID `json:"-"`
	// Beside are the other requests of the run that wait for a yes or no and that a Batch may answer together with this
	// one; none where this one is to be answered by itself. They are filled in where Covers is.
	Beside []RequestID `json:"-"`
	// Callbacks says that IssueCallback has an address for the pending request. It is filled in where Covers is.
	Callbacks bool `json:"-"`
}

// Covered is a waiting request that a standing answer to another one would settle.
type Covered struct {
	ID    RequestID
	Shown string // Request.Shown: its arguments as people read them
}

// ToolSnapshot is what people are told about the tool of a request.
type ToolSnapshot struct {
	Name        string         `json:"name"`
	Kind        agent.ToolKind `json:"kind"`
	Description string         `json:"description,omitempty"`
	Version     string         `json:"version,omitempty"`
	// Binding is agent.Tool.Attributes, for http for instance method, URL and header names, unexpanded. Of a hosted MCP
	// server "server_label L" and "server_url U" or "connector_id C" come before it.
	Binding []string `json:"binding,omitempty"`
}

// Card is a message on a surface that shows a request.
type Card struct {
	Channel string `json:"channel"`
	Message string `json:"message"` // the surface's id of the message
	// Copy is whom the message is for; empty: the people of the request's own place.
	Copy Copy `json:"copy,omitempty"`
	// List says that the message lists several requests, Bare that it does not show what is called.
	List bool `json:"list,omitempty"`
	Bare bool `json:"bare,omitempty"`
}

// Settler returns the decision that settled the request, or nil. A request whose quorum came out of reach was settled
// by the last person who declined.
func (r *RequestHead) Settler() *Decision {
	if r.Status != RequestApproved && r.Status != RequestRejected {
		return nil
	}
	for i, d := range slices.Backward(r.Decisions) {
		if d.Void == "" && d.Verdict.Affirms() == (r.Status == RequestApproved) {
			return &r.Decisions[i]
		}
	}
	return nil
}

// Standing returns the standing answer to another request that settled this one, or nil.
func (r *RequestHead) Standing() *StandingAnswer {
	if d := r.Settler(); d != nil {
		return d.Standing
	}
	return nil
}

// overdue reports whether the time for an answer has passed.
func (r *RequestHead) overdue(now time.Time) bool {
	return !r.Expires.IsZero() && !now.Before(r.Expires)
}

// given are the decisions about a request, in their order.
type given []Decision

// decidedBy returns the decision that counts and was given by the person, or for them, or nil.
func (r *RequestHead) decidedBy(u UserID) *Decision { return given(r.Decisions).by(u) }

// by is RequestHead.decidedBy.
func (g given) by(u UserID) *Decision {
	for i := range g {
		if d := &g[i]; (d.By == u || d.For == u) && d.Void == "" {
			return d
		}
	}
	return nil
}

// voters returns those who affirmed, or declined, in the order in which they did. A verdict that settles alone is no
// vote.
func (r *RequestHead) voters(affirm bool) []voter { return given(r.Decisions).voters(affirm) }

// voters is RequestHead.voters.
func (g given) voters(affirm bool) []voter {
	var all []voter
	for i := range g {
		d := &g[i]
		if d.Verdict.Affirms() == affirm && !d.Verdict.alone() && d.Void == "" && !slices.Contains(all, d.voter()) {
			all = append(all, d.voter())
		}
	}
	return all
}

// about reports whether r asks if a call of the tool by the agent may run, the tool being defined so.
func (r *RequestHead) about(agentName, tool string, definition agent.Digest) bool {
	return r.Kind == agent.Confirm && r.Agent == agentName && r.Tool.Name == tool &&
		sameDigest(r.Definition, definition)
}

// asks reports whether the request is about the interruption. A tool that was changed may have people fill something in
// where they were to confirm the call, or the other way round; that a confirmation follows what was filled in is not
// that: the tool is the same.
func (r *RequestHead) asks(in agent.Interruption) bool {
	letsRun := func(k agent.InterruptionKind) bool { return k == agent.Confirm || k == agent.FieldsRequired }
	changed := letsRun(r.Kind) && letsRun(in.Kind) && !sameDigest(r.Definition, in.Definition)
	return r.Interruption == in.ID && (r.Kind == in.Kind || changed)
}

// asksSame reports whether both ask about the same interruption of the run.
func (r *RequestHead) asksSame(o *RequestHead) bool {
	return r.asks(agent.Interruption{ID: o.Interruption, Kind: o.Kind, Definition: o.Definition})
}

// forAll reports whether r was settled by an answer that is meant for all later calls of its tool in the run.
func (r *RequestHead) forAll() bool {
	d := r.Settler()
	return d != nil && r.standing() && d.Verdict.standing()
}

// standing reports whether the people who settled r meant all later calls of the run too: all of them said so, without
// other terms, and their number is that which the policy demands.
func (r *RequestHead) standing() bool {
	if r.Note != "" { // fewer than it takes to decide
		return false
	}
	affirm := r.Status == RequestApproved
	for _, d := range r.Decisions {
		if d.Void == "" && d.Verdict.Affirms() == affirm && !d.standing() {
			return false
		}
	}
	return true
}
