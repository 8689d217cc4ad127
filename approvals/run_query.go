package approvals

import "time"

// RunQuery selects runs of a workspace. Empty fields match everything.
type RunQuery struct {
	Workspace WorkspaceID
	Status    RunStatus
	Person    UserID // who asked for the run, or cancelled it
	Agent     string
	Channel   string
	From, To  time.Time // created at or after From and before To
	Newest    bool      // the greatest ids, which are the newest runs, come first
	After     RunID     // continue behind this one, in the order of the list
	Limit     int
}

// Matches reports whether the query selects the run, apart from After and Limit.
func (q *RunQuery) Matches(r *Run) bool {
	switch {
	case r.Workspace != q.Workspace,
		q.Status != "" && r.Status != q.Status,
		q.Agent != "" && r.Agent != q.Agent,
		q.Channel != "" && r.Place.Channel != q.Channel,
		!q.From.IsZero() && r.Created.Before(q.From),
		!q.To.IsZero() && !r.Created.Before(q.To):
		return false
	}
	return q.Person == "" || r.Requester == q.Person || r.CancelledBy == q.Person
}

// Open reports whether the query is for runs that have not ended.
func (q *RunQuery) Open() bool { return q.Status != "" && !q.Status.Ended() }
