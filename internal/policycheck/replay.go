package policycheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// Replay counts what an agents file makes of recorded requests. It keeps counts and the ids of a few requests of each
// kind of change, however many requests there are.
type Replay struct {
	report  Report
	changes map[string]*Change
	load    load
}

// Report is what a replay came to.
type Report struct {
	Requests int `json:"requests"` // that were replayed
	// Fates count what would become of them, by Fate.
	Fates map[Fate]int `json:"fates"`
	// Same is how many would be asked as they were.
	Same    int      `json:"same"`
	Changes []Change `json:"changes,omitempty"` // the most frequent first
	// Other is how many changed in more ways than Changes has room for.
	Other int    `json:"other,omitempty"`
	Load  []Load `json:"load,omitempty"` // who has most to do first
	// LeftOut counts the requests that were not replayed, by the reason in words.
	LeftOut map[string]int `json:"left_out,omitempty"`
}

// Change is one way in which requests would be treated otherwise.
type Change struct {
	Agent string   `json:"agent"`
	Tool  string   `json:"tool"`
	What  []string `json:"what"`
	Count int      `json:"count"`
	// Requests are the first of them, at most ten.
	Requests []approvals.RequestID `json:"requests"`
}

// Replayed is one request under the agents file.
type Replayed struct {
	ID      approvals.RequestID     `json:"id"`
	Created time.Time               `json:"created"`
	Agent   string                  `json:"agent"`
	Tool    string                  `json:"tool"`
	Status  approvals.RequestStatus `json:"status"`
	Fate    Fate                    `json:"fate"`
	Policy  string                  `json:"policy,omitempty"` // which would demand something
	// Changes say what would be otherwise, empty: nothing.
	Changes []string `json:"changes,omitempty"`
	Why     string   `json:"why,omitempty"`
}

const (
	maxChanges = 1000 // kinds of changes that a report lists
	maxIDs     = 10   // requests that are named for each
)

// NewReplay returns an empty replay.
func NewReplay() *Replay {
	return &Replay{
		changes: make(map[string]*Change), load: make(load),
		report: Report{Fates: make(map[Fate]int), LeftOut: make(map[string]int)},
	}
}

// Skip reports whether requests like this one are not replayed, and counts it then. It does not look at the arguments.
func (p *Replay) Skip(r *approvals.RequestHead) bool {
	why := ""
	switch {
	case r.Kind == agent.OutcomeUnknown:
		why = "asked what became of a call that had been allowed"
	case r.Status == approvals.RequestStale:
		why = "went stale; what was asked instead counts"
	}
	if why != "" {
		p.report.LeftOut[why]++
	}
	return why != ""
}

// Add counts one request of which the agents file makes v.
func (p *Replay) Add(r *approvals.RequestHead, v Verdict) Replayed {
	out := Replayed{
		ID: r.ID, Created: r.Created, Agent: r.Agent, Tool: r.Tool.Name, Status: r.Status, Fate: v.Fate,
		Policy: v.Requirement.Policy, Changes: changesOf(&r.Requirement, &v), Why: v.Why,
	}
	p.report.Requests++
	p.report.Fates[v.Fate]++
	p.load.add(&r.Requirement, r, before)
	if v.Fate == Asked || v.Fate == Unknown {
		p.load.add(&v.Requirement, r, after)
	}
	p.count(&out)
	return out
}

// changesOf says what is otherwise than it was when the request was made.
func changesOf(was *approvals.Requirement, v *Verdict) []string {
	switch v.Fate {
	case Asked, Unknown:
	default:
		return []string{"people were asked → " + words(v.Fate)}
	}
	var changes []string
	now := demands(&v.Requirement)
	for i, d := range demands(was) {
		if d.value != now[i].value {
			changes = append(changes, fmt.Sprintf("%s %s → %s", d.name, d.value, now[i].value))
		}
	}
	return changes
}

// demand is one thing that a policy says.
type demand struct{ name, value string }

// day is how long a grant lasts at most under requirements that do not say.
const day = 24 * time.Hour

// demands are all that a policy says, always in the same order.
func demands(q *approvals.Requirement) []demand {
	return []demand{
		{"policy", q.Policy}, {"quorum", people(len(q.Seats))}, {"approvers", whoAgrees(q)},
		{"deny_quorum", people(q.DenyQuorum)}, {"self_approval", yesNo(q.SelfApproval)},
		{"expires_in", span(q.ExpiresIn)}, {"on_expiry", string(q.OnExpiry)}, {"valid_for", span(q.ValidFor)},
		{"always", scopes(q.Always)}, {"max_ttl", span(cmp.Or(q.MaxTTL, day))},
		{"risk", riskWord(q)}, {"freeze", freezes(q.Freeze)},
		{"escalate", escalation(&q.Escalation)}, {"remind_every", span(q.RemindEvery)}, {"notify", notice(q.Notify)},
	}
}

// whoAgrees lists the sets that seats are for: one that is for all of them once, others for each seat.
func whoAgrees(q *approvals.Requirement) string {
	if _, one := q.Uniform(); one {
		return distinct(q)
	}
	return eachSeat(q)
}

// escalation says who else may answer, and when.
func escalation(e *approvals.Escalation) string {
	if e.After <= 0 {
		return "nobody"
	}
	return "after " + span(e.After) + " " + seatWords(e.To)
}

// notice says how people learn of a request.
func notice(n approvals.Notify) string {
	text := cmp.Or(string(n.Named), agentsfile.NotifyAuto)
	if n.Channel != "" {
		text += " and channel " + n.Channel
	}
	return text
}

func (p *Replay) count(r *Replayed) {
	if len(r.Changes) == 0 {
		p.report.Same++
		return
	}
	key := r.Agent + "\x00" + r.Tool + "\x00" + strings.Join(r.Changes, "\x00")
	c := p.changes[key]
	if c == nil && len(p.changes) == maxChanges {
		p.report.Other++
		return
	}
	if c == nil {
		c = &Change{Agent: r.Agent, Tool: r.Tool, What: r.Changes}
		p.changes[key] = c
	}
	if c.Count++; len(c.Requests) < maxIDs {
		c.Requests = append(c.Requests, r.ID)
	}
}

// Report says what the replay has come to so far.
func (p *Replay) Report() Report {
	report := p.report
	report.Load = p.load.list()
	for _, c := range p.changes {
		report.Changes = append(report.Changes, *c)
	}
	slices.SortFunc(report.Changes, func(a, b Change) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Tool, b.Tool), strings.Compare(a.Agent, b.Agent),
			slices.Compare(a.What, b.What))
	})
	return report
}
