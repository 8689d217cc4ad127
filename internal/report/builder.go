package report

import (
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// Builder counts requests and entries of the audit trail. It is for one goroutine, and not made but by New.
//
// It keeps some eight bytes for each request that people decided in the window and for each of its four groups, about
// a hundred for each answer of a person, and some thirty for each request that the trail tells of in the window or of
// whose deletion it tells later; of all else outside the window it keeps nothing. No figure is an estimate.
type Builder struct {
	report  Report
	decided durations
	groups  [4]map[string]*group // in the order of Report's fields
	days    map[string]*Status
	people  people
	trails  map[approvals.WorkspaceID]*Trail
	done    [len(ends)]Outcomes
	told    map[requestSum]bool // that the trail tells of in the window
	deleted map[requestSum]bool // since the window began
}

// ends are the statuses in which requests are settled.
var ends = [...]approvals.RequestStatus{
	approvals.RequestApproved, approvals.RequestRejected, approvals.RequestExpired, approvals.RequestCancelled,
	approvals.RequestStale, approvals.RequestSuperseded,
}

// New returns a Builder that counts what is in the window.
func New(w Window) *Builder {
	b := &Builder{
		days: make(map[string]*Status), people: make(people), trails: make(map[approvals.WorkspaceID]*Trail),
		told: make(map[requestSum]bool), deleted: make(map[requestSum]bool),
	}
	b.report.Window = w
	for i := range b.groups {
		b.groups[i] = make(map[string]*group)
	}
	for i, status := range ends {
		b.done[i].Status = status
	}
	return b
}

// Add counts a request. The order in which requests are added does not matter; one that is added twice counts twice.
// The Builder keeps nothing of r.
func (b *Builder) Add(r *approvals.RequestHead) {
	w := b.report.Window
	if w.Contains(r.Created) {
		b.asked(r)
	}
	if w.Contains(r.Settled) && r.Status != approvals.RequestPending {
		b.settled(r)
	}
	if r.Created.Before(w.To) && !answered(r).Before(w.To) {
		b.pending(r)
	}
	for i := range r.Decisions {
		if d := &r.Decisions[i]; w.Contains(d.At) {
			b.people.add(r, d)
		}
	}
	b.reviewed(r)
}

// asked counts the demand.
func (b *Builder) asked(r *approvals.RequestHead) {
	a := &b.report.Asked
	a.Requests++
	a.Status.count(r.Status)
	if r.Requirement.Risk == approvals.RiskHigh {
		a.HighRisk++
	}
	day := r.Created.UTC().Format(time.DateOnly)
	if b.days[day] == nil {
		b.days[day] = new(Status)
	}
	b.days[day].count(r.Status)
	for _, g := range b.groupsOf(r) {
		g.Asked++
	}
}

// settled counts how a request ended.
func (b *Builder) settled(r *approvals.RequestHead) {
	b.report.Settled.Status.count(r.Status)
	if i := slices.Index(ends[:], r.Status); i >= 0 {
		b.done[i].count(r.Outcome)
	}
	groups := b.groupsOf(r)
	for _, g := range groups {
		g.Settled.count(r.Status)
	}
	switch how(r) {
	case byPeople:
		took, affirmed := waited(r, r.Settled), r.Status == approvals.RequestApproved
		b.decided.add(took, affirmed)
		for _, g := range groups {
			g.decided.add(took, affirmed)
		}
	case byStanding:
		if r.Status == approvals.RequestApproved {
			b.report.Apart.StandingApproved++
		} else {
			b.report.Apart.StandingRejected++
		}
	case byEmergency:
		b.report.Apart.Emergency++
	case byCallback:
		b.report.Apart.Callback++
	}
}

// pending counts a request that waited when the window ended.
func (b *Builder) pending(r *approvals.RequestHead) {
	p := &b.report.Pending
	p.Requests++
	if age := seconds(waited(r, b.report.Window.To)); p.Oldest == nil || age > *p.Oldest {
		p.Oldest = &age
	}
}

// Report returns what was counted so far.
func (b *Builder) Report() *Report {
	r := b.report
	r.Asked.HighRiskShare = share(r.Asked.HighRisk, r.Asked.Requests)
	r.Settled.Requests = r.Settled.Status.Sum()
	r.Settled.Outcomes = slices.Clone(b.done[:])
	r.Decided, r.Times = b.decided.summary(), b.decided.classes()
	r.Tools, r.Agents = groupList(b.groups[0]), groupList(b.groups[1])
	r.Policies, r.Kinds = groupList(b.groups[2]), groupList(b.groups[3])
	b.people.fill(&r)
	b.fillTrails(&r)
	r.Missing = b.missing()
	r.Emergencies.Requests = firstEmergencies(r.Emergencies.Requests)
	r.Days = []Day{}
	for _, date := range sortedKeys(b.days) {
		r.Days = append(r.Days, Day{date, *b.days[date]})
	}
	return &r
}

// count counts a request of the status.
func (s *Status) count(status approvals.RequestStatus) {
	switch status {
	case approvals.RequestPending:
		s.Pending++
	case approvals.RequestApproved:
		s.Approved++
	case approvals.RequestRejected:
		s.Rejected++
	case approvals.RequestExpired:
		s.Expired++
	case approvals.RequestCancelled:
		s.Cancelled++
	case approvals.RequestStale:
		s.Stale++
	case approvals.RequestSuperseded:
		s.Superseded++
	}
}

// count counts a request of the outcome.
func (o *Outcomes) count(outcome approvals.Outcome) {
	switch outcome {
	case approvals.OutcomeRan:
		o.Ran++
	case approvals.OutcomeFailed:
		o.Failed++
	case approvals.OutcomeNotRun:
		o.NotRun++
	case approvals.OutcomeUnknown:
		o.Unknown++
	case approvals.OutcomeRunning:
		o.Running++
	default:
		o.Open++
	}
}

// group is a Group that is being counted.
type group struct {
	Group
	decided durations
}

// groupsOf returns the groups that the request is in.
func (b *Builder) groupsOf(r *approvals.RequestHead) (all [4]*group) {
	names := [4]string{r.Tool.Name, r.Agent, r.Requirement.Policy, string(r.Kind)}
	for i, name := range names {
		if all[i] = b.groups[i][name]; all[i] == nil {
			name = strings.Clone(name) // the record that it is a part of is not kept
			all[i] = &group{Group: Group{Name: name}}
			b.groups[i][name] = all[i]
		}
	}
	return all
}

func groupList(all map[string]*group) []Group {
	list := []Group{}
	for _, name := range sortedKeys(all) {
		g := all[name].Group
		g.Decided = all[name].decided.summary()
		list = append(list, g)
	}
	return list
}
