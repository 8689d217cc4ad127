package policycheck

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/catalog"
)

// The least that a suggestion rests on. With 20 approvals and no rejection, up to one such call in seven may still be
// one that people would reject (see RejectionBound): fewer say next to nothing.
const (
	MinRequests = 20 // approved by people, one by one
	MinDays     = 3  // on which they were asked
)

// The most that is kept. What comes after the first maxSamples requests of a tool still counts against it when people
// rejected it.
const (
	maxSamples = 5000
	maxTools   = 500
)

// Suggestions collects what people were asked and answered, and says what could have been written down instead of being
// asked. It suggests nothing for a tool of which a call was rejected or changed by people, that more than one person
// must agree to, or whose risk is high.
type Suggestions struct {
	catalog *catalog.Catalog
	tools   map[string]*evidence
	dropped int // requests of tools beyond maxTools
}

// evidence is what people said about the calls of one tool by one agent.
type evidence struct {
	agent   string
	tool    approvals.ToolSnapshot // as it was last
	counts  Counts
	several bool // more than one person had to agree
	risky   bool
	other   bool // something else than a confirmation was asked
	samples []sample
}

// Counts are how the requests about a tool ended.
type Counts struct {
	Asked    int `json:"asked"`
	Approved int `json:"approved"` // by people who looked at this very call
	Standing int `json:"standing"` // settled by an answer for all calls, which says nothing of this one
	Rejected int `json:"rejected"` // by anybody, also where others approved
	Edited   int `json:"edited"`   // people changed the arguments
	Open     int `json:"open"`     // expired, cancelled, stale or pending: nobody decided
	// Emergency counts those that somebody let run past the policy, and to which no reviewer objected.
	Emergency int `json:"emergency,omitempty"`
}

// sample is a call that people approved.
type sample struct {
	id   approvals.RequestID
	at   time.Time
	args map[string]scalar
	by   []string
}

// NewSuggestions returns an empty collection. Only tools that the catalog's agents file has are suggested for.
func NewSuggestions(c *catalog.Catalog) *Suggestions {
	return &Suggestions{catalog: c, tools: make(map[string]*evidence)}
}

// Want reports whether the arguments of the request matter; it counts the request in any case.
func (s *Suggestions) Want(r *approvals.RequestHead) bool {
	if r.Kind == agent.OutcomeUnknown {
		return false
	}
	e := s.evidence(r)
	if e == nil {
		s.dropped++
		return false
	}
	e.counts.Asked++
	e.several = e.several || len(r.Requirement.Seats) > 1
	e.risky = e.risky || r.Requirement.Risk == approvals.RiskHigh
	e.other = e.other || r.Kind != agent.Confirm
	switch {
	case rejectedByAnybody(r):
		e.counts.Rejected++
	case r.Supersedes != "" || r.SupersededBy != "":
		e.counts.Edited++
	case r.Status != approvals.RequestApproved:
		e.counts.Open++
	case r.Standing() != nil:
		e.counts.Standing++
	case r.Settler() != nil && r.Settler().Verdict == approvals.BreakGlass:
		e.counts.Emergency++
	default:
		e.counts.Approved++
		return len(e.samples) < maxSamples
	}
	return false
}

func (s *Suggestions) evidence(r *approvals.RequestHead) *evidence {
	key := r.Agent + "\x00" + r.Tool.Name
	e := s.tools[key]
	if e == nil && len(s.tools) < maxTools {
		e = &evidence{agent: r.Agent}
		s.tools[key] = e
	}
	if e != nil {
		e.tool = r.Tool
	}
	return e
}

// rejectedByAnybody reports whether somebody said no, whether or not it was enough and still counts, or objected to an
// emergency decision afterwards.
func rejectedByAnybody(r *approvals.RequestHead) bool {
	if r.Review != nil && r.Review.Verdict == approvals.ReviewObject {
		return true
	}
	return r.Status == approvals.RequestRejected || slices.ContainsFunc(r.Decisions, func(d approvals.Decision) bool {
		return d.Verdict == approvals.Reject || d.Verdict == approvals.AlwaysReject
	})
}

// Add takes a request that Want wants.
func (s *Suggestions) Add(r *approvals.Request) {
	e := s.evidence(&r.RequestHead)
	if e == nil {
		return
	}
	sm := sample{id: r.ID, at: r.Created, args: plainScalars(r)}
	for i := range r.Decisions {
		if d := &r.Decisions[i]; d.Void == "" && d.Verdict.Affirms() {
			sm.by = append(sm.by, d.By.Local())
		}
	}
	e.samples = append(e.samples, sm)
}

// Findings are what the collection came to.
type Findings struct {
	Suggestions []Suggestion `json:"suggestions"`
	// Nothing says of every other tool why nothing is suggested.
	Nothing []Nothing `json:"nothing,omitempty"`
	// Dropped counts requests of more tools than are looked at.
	Dropped int `json:"dropped,omitempty"`
}

// Nothing is a tool for which nothing is suggested.
type Nothing struct {
	Agent  string `json:"agent"`
	Tool   string `json:"tool"`
	Counts Counts `json:"counts"`
	Why    string `json:"why"`
}

// Findings says what the requests so far suggest, the suggestion that would have spared people the most first.
func (s *Suggestions) Findings() Findings {
	f := Findings{Suggestions: []Suggestion{}, Dropped: s.dropped}
	for _, e := range s.tools {
		found, why := s.look(e)
		if len(found) == 0 {
			f.Nothing = append(f.Nothing, Nothing{e.agent, e.tool.Name, e.counts, why})
		}
		f.Suggestions = append(f.Suggestions, found...)
	}
	slices.SortFunc(f.Nothing, func(a, b Nothing) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Agent, b.Agent))
	})
	slices.SortFunc(f.Suggestions, func(a, b Suggestion) int {
		return cmp.Or(b.Spares-a.Spares, strings.Compare(a.Tool, b.Tool), strings.Compare(a.Agent, b.Agent),
			strings.Compare(a.Condition, b.Condition))
	})
	return f
}

// RejectionBound is how many of such calls, at most, people would reject, as a fraction, when they approved n of n:
// with a confidence of 95 percent, if the calls to come are like those.
func RejectionBound(n int) float64 {
	if n < 1 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}
