package approvals

// Submission asks for a run.
type Submission struct {
	Workspace WorkspaceID
	// Keys name the event in every form in which it may be delivered again, for instance the event id and channel plus
	// message id. A submission of which any key was seen before is a duplicate. The first key is that of the event
	// itself.
	Keys      []string
	Place     Place
	Requester UserID
	Agent     string // the agent's name; must be known
	Text      string // what the person wrote, without the mention
	Message   string // the surface's id of the message
	// State is the surface's id of the message that is to show how the run stands; empty: none.
	State string
	Files []File // what is attached to the message
}

// SubmitOutcome says what became of a submission.
type SubmitOutcome string

// The outcomes of a submission that was not refused.
const (
	SubmitStarted   SubmitOutcome = "started"   // a new run is queued
	SubmitQueued    SubmitOutcome = "queued"    // a run of the place is under way; the text waits for its end
	SubmitDuplicate SubmitOutcome = "duplicate" // seen before; nothing was changed
	// SubmitAnswered: the text answers what somebody asked the requester back, see Service.AskBack; no run is queued.
	SubmitAnswered SubmitOutcome = "answered"
)

// Receipt tells what became of a submission.
type Receipt struct {
	Run     RunID // the new run, or the one under way; empty for duplicates
	Outcome SubmitOutcome
	// Ahead is how many other messages wait in the place before a queued one.
	Ahead int
	// Redelivered says of a duplicate that this very event was seen before, by its first key, whoever took it; else
	// another event has told of the same.
	Redelivered bool
}

// Limits bound how much may be under way; zero means no bound.
type Limits struct {
	RunsPerPerson    int // runs that have not ended
	RunsPerChannel   int
	PendingPerPerson int // pending requests of one requester
}

// PendingQuery selects pending requests for a viewer.
type PendingQuery struct {
	Workspace WorkspaceID
	// Viewer sees only what they asked for, may decide, or whose channel they are in. Empty: everything (the operator).
	Viewer UserID
	// Mine leaves out what the viewer neither asked for nor may decide.
	Mine  bool
	After RequestID // continue behind this one
	Limit int       // at most; 20 when zero, 100 at most
}
