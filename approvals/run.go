package approvals

import (
	"net/url"
	"time"

	"countersign/agent"
)

// Place is a conversation on a surface: where a run was asked for and where it is answered.
type Place struct {
	Surface string `json:"surface"` // "slack"
	Channel string `json:"channel"`
	Thread  string `json:"thread"` // id of the thread's first message
	// Direct says that the channel is a conversation of the requester with the bot alone.
	Direct bool `json:"direct,omitempty"`
}

// Key names the place in one string. Different places have different keys.
func (p Place) Key() string {
	return url.PathEscape(p.Surface) + "/" + url.PathEscape(p.Channel) + "/" + url.PathEscape(p.Thread)
}

// RunStatus is where a run stands.
type RunStatus string

// The statuses of runs. docs/state-machine.md shows the moves between them; runMoves is the same table.
const (
	RunQueued    RunStatus = "queued"
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting"
	RunDone      RunStatus = "done"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
)

// Ended reports whether the status is final.
func (s RunStatus) Ended() bool { return s == RunDone || s == RunFailed || s == RunCancelled }

// Run is one execution of an agent for a person in a place. At most one run of a place has not ended.
type Run struct {
	Workspace WorkspaceID `json:"workspace"`
	ID        RunID       `json:"id"`
	Place     Place       `json:"place"`
	Agent     string      `json:"agent"`
	Requester UserID      `json:"requester"`
	Input     string      `json:"input"` // what the person wrote
	Status    RunStatus   `json:"status"`
	// Version grows with every write of the record.
	Version int64 `json:"version"`
	// Epoch grows with every claim. A write that carries an older epoch is refused.
	Epoch int64 `json:"epoch"`
	// Owner holds the lease until LeaseUntil; empty when nobody works on the run.
	Owner      string    `json:"owner,omitempty"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	// StateItems is how many items of the conversation are stored; 0 before the first checkpoint.
	StateItems int `json:"state_items,omitempty"`
	// HistoryItems is how many of them are the memory of earlier runs of the place.
	HistoryItems int         `json:"history_items,omitempty"`
	Turns        int         `json:"turns,omitempty"`
	Usage        agent.Usage `json:"usage,omitzero"`
	// Queued is how many messages (QueuedInput) wait in the place; the next run starts with them.
	Queued int `json:"queued,omitempty"`
	// Output is the answer of a done run; Failure tells people why a run failed or was cancelled.
	Output  string `json:"output,omitempty"`
	Failure string `json:"failure,omitempty"`
	// CancelledBy is the person who cancelled the run, if one did.
	CancelledBy UserID    `json:"cancelled_by,omitempty"`
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`
	Ended       time.Time `json:"ended,omitzero"`
	// Waits says why the run is tried again and again, once people have been told; empty when it goes on.
	Waits string `json:"waits,omitempty"`
	// Uses are calls that began under grants of which people have not been told yet; all of one turn.
	Uses []GrantUse `json:"uses,omitempty"`
	// RetryOf is the run whose input this one was given again, because somebody asked for that; RetriedAs is its
	// opposite.
	RetryOf   RunID `json:"retry_of,omitempty"`
	RetriedAs RunID `json:"retried_as,omitempty"`
	// Guardrails are what guardrails did in the run, oldest first, the last 20; those that let everything pass without
	// a word are left out.
	Guardrails []GuardrailVerdict `json:"guardrails,omitempty"`
	// StateMessage is the surface's id of the message that shows how the run stands; empty: none does. StateShown is
	// what it shows, as far as is known.
	StateMessage string    `json:"state_message,omitempty"`
	StateShown   RunStatus `json:"state_shown,omitempty"`
	// Message is the surface's id of the message that Input is, or of the last of several; Files are attached to them.
	Message string `json:"message,omitempty"`
	Files   []File `json:"files,omitempty"`
	// Background is what the model reads beside Input; nil until that is found out, and where there is nothing.
	Background *Background `json:"background,omitempty"`
	// Streams counts the messages that have shown the run's progress.
	Streams int `json:"streams,omitempty"`
	// Trace refers to the span of what queued the run last: see trace.Link. Empty where nothing is traced.
	Trace string `json:"trace,omitempty"`
	// Unsure says that the run was queued before it was known whether its requester may start runs, and that this is
	// not known yet. Nothing of such a run happens, and its words are in no memory.
	Unsure bool `json:"unsure,omitempty"`
}

// GuardrailVerdict is what a guardrail did in a run.
type GuardrailVerdict struct {
	Stage     string `json:"stage"`     // input, tool_input, tool_output or output
	Guardrail string `json:"guardrail"` // its name
	Agent     string `json:"agent"`
	Tool      string `json:"tool,omitempty"`
	Call      string `json:"call,omitempty"`   // the provider's id of the call
	Action    string `json:"action,omitempty"` // replace, ask_again or trip; empty: it let the call or text pass
	// Message is what it said, cut at 300 characters.
	Message string `json:"message,omitempty"`
}

func (r *Run) conversation() conversation {
	return conversation{ws: r.Workspace, place: r.Place, requester: r.Requester}
}

func (r *Run) key() RunKey { return RunKey{r.Workspace, r.ID, r.Place} }

// QueuedInput is a message that arrived while a run of its place was under way.
type QueuedInput struct {
	Workspace WorkspaceID `json:"workspace"`
	Place     Place       `json:"place"`
	ID        InputID     `json:"id"` // sorts by time of arrival
	By        UserID      `json:"by"`
	Text      string      `json:"text"`
	At        time.Time   `json:"at"`
	Message   string      `json:"message"` // the surface's id of the message
	// RetryOf is the run of which this is the input once more; empty for what people wrote.
	RetryOf RunID `json:"retry_of,omitempty"`
	// State is Submission.State.
	State string `json:"state,omitempty"`
	Files []File `json:"files,omitempty"` // attached to the message
}
