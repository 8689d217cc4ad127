package report

import (
	"time"

	"countersign/approvals"
)

// Report is what was asked, decided and done in a window. Every figure is defined in docs/report.md. Durations are in
// seconds. What has no value, such as a rate of nothing, is nil.
type Report struct {
	Window Window `json:"window"`
	// Workspaces are those whose records were counted.
	Workspaces []approvals.WorkspaceID `json:"workspaces"`
	Generated  time.Time               `json:"generated"`
	Version    string                  `json:"version"` // of the program
	// Trails tie the report to the audit trails as they were then.
	Trails []Trail `json:"trails"`
	// Missing is how many requests, says the trail, were made, answered, settled or reviewed in the window and deleted
	// since. They are in no figure but Asked.Trail, Calls and Grants.
	Missing int `json:"missing"`

	Asked   Asked   `json:"asked"`
	Settled Settled `json:"settled"`
	Decided Decided `json:"decided"`
	Apart   Apart   `json:"apart"`
	Pending Pending `json:"pending"`
	// Times is how long requests took that people decided, in classes.
	Times []TimeClass `json:"times"`

	Tools    []Group `json:"tools"` // by name, as the three below
	Agents   []Group `json:"agents"`
	Policies []Group `json:"policies"`
	Kinds    []Group `json:"kinds"`

	Answers   Answers    `json:"answers"`
	Approvers []Approver `json:"approvers"` // by id
	Fatigue   Fatigue    `json:"fatigue"`

	Calls       Calls       `json:"calls"`
	Grants      Grants      `json:"grants"`
	Emergencies Emergencies `json:"emergencies"`
	// Days are the days of UTC on which something was asked, in order.
	Days []Day `json:"days"`
}

// Trail is the end of a workspace's audit trail when the report was made. The report has not verified it.
type Trail struct {
	Workspace approvals.WorkspaceID `json:"workspace"`
	Entries   uint64                `json:"entries"` // in the chain
	Unsealed  uint64                `json:"unsealed"`
	Head      string                `json:"head"` // the hash of the newest entry in the chain; empty for none
}

// Asked counts the requests that were made in the window: the demand.
type Asked struct {
	Requests int `json:"requests"`
	HighRisk int `json:"high_risk"`
	// HighRiskShare is HighRisk of Requests.
	HighRiskShare *float64 `json:"high_risk_share"`
	// Trail is how many the audit trail says were made. More than Requests: the others were deleted since.
	Trail int `json:"trail"`
	// Status counts them by how they stood when the report was made.
	Status Status `json:"status"`
}

// Status counts requests by their status.
type Status struct {
	Pending    int `json:"pending"`
	Approved   int `json:"approved"`
	Rejected   int `json:"rejected"`
	Expired    int `json:"expired"`
	Cancelled  int `json:"cancelled"`
	Stale      int `json:"stale"`
	Superseded int `json:"superseded"`
}

// Sum is how many requests were counted.
func (s *Status) Sum() int {
	return s.Pending + s.Approved + s.Rejected + s.Expired + s.Cancelled + s.Stale + s.Superseded
}

// Settled counts the requests that were settled in the window.
type Settled struct {
	Requests int    `json:"requests"`
	Status   Status `json:"status"` // none is pending
	// Outcomes is what had become of their calls when the report was made, for each status.
	Outcomes []Outcomes `json:"outcomes"`
}

// Outcomes counts requests of one status by what became of the call.
type Outcomes struct {
	Status  approvals.RequestStatus `json:"status"`
	Ran     int                     `json:"ran"`
	Failed  int                     `json:"failed"`
	NotRun  int                     `json:"not_run"`
	Unknown int                     `json:"unknown"`
	Running int                     `json:"running"`
	Open    int                     `json:"open"` // not known yet
}

// Sum is how many requests were counted.
func (o *Outcomes) Sum() int { return o.Ran + o.Failed + o.NotRun + o.Unknown + o.Running + o.Open }

// Decided counts the requests that people decided in the window, one by one, and how long they had waited.
type Decided struct {
	Approved int `json:"approved"`
	Rejected int `json:"rejected"`
	// Rate is Approved of Approved and Rejected.
	Rate *float64 `json:"approval_rate"`
	// Median and P95 are by nearest rank: a time that occurred, and the shortest within which half of the requests, or
	// 95 of 100, were decided.
	Median *float64 `json:"median_seconds"`
	P95    *float64 `json:"p95_seconds"`
}

// Apart counts requests that were approved or rejected in the window, but not by people who looked at each.
type Apart struct {
	// StandingApproved and StandingRejected followed from an "always" that people had said to another request.
	StandingApproved int `json:"standing_approved"`
	StandingRejected int `json:"standing_rejected"`
	Emergency        int `json:"emergency"` // approved past the policy
	Callback         int `json:"callback"`  // whose result a system reported
}

// Pending is what waited when the window ended.
type Pending struct {
	Requests int `json:"requests"`
	// Oldest is how long the oldest of them had waited then.
	Oldest *float64 `json:"oldest_seconds"`
}

// TimeClass counts the decided requests that took from AtLeast on and less than Below, in seconds; the last class has
// no Below.
type TimeClass struct {
	AtLeast  float64 `json:"at_least_seconds"`
	Below    float64 `json:"below_seconds,omitempty"`
	Approved int     `json:"approved"`
	Rejected int     `json:"rejected"`
}

// Group is what the report says of the requests that have a tool, an agent, a policy or a kind in common.
type Group struct {
	Name    string  `json:"name"`
	Asked   int     `json:"asked"`
	Settled Status  `json:"settled"`
	Decided Decided `json:"decided"`
}

// Answers counts what people answered in the window, each answer of each person.
type Answers struct {
	Given      int      `json:"given"`
	Approvals  int      `json:"approvals"`
	Rejections int      `json:"rejections"`
	Edits      int      `json:"edits"`       // changes of a call
	Emergency  int      `json:"break_glass"` // past the policy
	Always     int      `json:"always"`      // of the approvals and rejections: for later calls too
	Own        int      `json:"own"`         // approvals by whoever asked for the call or has changed it
	Voided     int      `json:"voided"`      // not in Given: they count no longer
	Median     *float64 `json:"median_seconds"`
	// Fast are those given less than five seconds after the request was made; FastShare is that of Given.
	Fast      int      `json:"under_5_seconds"`
	FastShare *float64 `json:"under_5_seconds_share"`
	Via       []Via    `json:"via"` // by name
}

// Via counts answers that came one way.
type Via struct {
	Name    string `json:"name"`
	Answers int    `json:"answers"`
}

// Approver is what one person answered.
type Approver struct {
	Person approvals.UserID `json:"person"`
	Answers
	// Streak is the person's longest run of approvals without another answer between.
	Streak int `json:"longest_streak"`
}

// Fatigue holds signs that people answer without looking.
type Fatigue struct {
	// Fastest are the fastest answers under five seconds, at most 20.
	Fastest []FastAnswer `json:"fastest"`
	// HighRisk counts the answers under five seconds about calls of high risk.
	HighRisk int `json:"high_risk_under_5_seconds"`
	// Streaks are runs of 20 or more approvals by one person without another answer between, the longest first; Bursts
	// are 10 or more answers of one person, each ten in a row of which came within five minutes, the largest first. At
	// most 20 each; the numbers below them are of all.
	Streaks     []Series `json:"streaks"`
	StreakCount int      `json:"streak_count"`
	Bursts      []Series `json:"bursts"`
	BurstCount  int      `json:"burst_count"`
}

// FastAnswer is an answer that was given soon.
type FastAnswer struct {
	Request approvals.RequestID `json:"request"`
	Person  approvals.UserID    `json:"person"`
	Verdict approvals.Verdict   `json:"verdict"`
	At      time.Time           `json:"at"`
	Took    float64             `json:"took_seconds"`
}

// Series is a number of answers of one person behind each other.
type Series struct {
	Person approvals.UserID `json:"person"`
	Length int              `json:"length"`
	From   time.Time        `json:"from"` // of the first answer
	To     time.Time        `json:"to"`   // of the last answer
	Median *float64         `json:"median_seconds"`
}

// Calls counts the calls that began in the window, as the audit trail has them, by what let them run. One that was
// begun again counts once.
type Calls struct {
	Began     int `json:"began"`
	Request   int `json:"request"`     // people were asked about it and approved
	Standing  int `json:"standing"`    // an answer for all calls of the tool in its run covered it
	Grant     int `json:"grant"`       // a grant covered it: nobody was asked
	Emergency int `json:"break_glass"` // somebody broke the glass
	Gate      int `json:"gate"`        // the tool's gate let it through
	// Recorded are those let through by a gate that only records them for review.
	Recorded int `json:"recorded"`
}

// Grants counts what happened to grants in the window, as the audit trail has it.
type Grants struct {
	Created int `json:"created"`
	Revoked int `json:"revoked"`
	Used    int `json:"used"`
	Denied  int `json:"denied"` // calls that a grant rejected
}

// Emergencies are the requests that somebody approved past the policy in the window, at most 100 of Count.
type Emergencies struct {
	Count      int         `json:"count"`
	Unreviewed int         `json:"unreviewed"`
	Requests   []Emergency `json:"requests"` // in order of At
	// Reviews counts the reviews given in the window, of whatever emergency.
	Accepted int `json:"reviews_accepted"`
	Objected int `json:"reviews_objected"`
}

// Emergency is a request that was approved past the policy.
type Emergency struct {
	Request  approvals.RequestID     `json:"request"`
	Tool     string                  `json:"tool"`
	Person   approvals.UserID        `json:"person"`
	At       time.Time               `json:"at"`
	Review   approvals.ReviewVerdict `json:"review,omitempty"` // empty: nobody has reviewed it
	Reviewer approvals.UserID        `json:"reviewer,omitempty"`
}

// Day counts the requests made on a day of UTC, by how they stood when the report was made.
type Day struct {
	Date   string `json:"date"` // 2026-10-31
	Status Status `json:"status"`
}
