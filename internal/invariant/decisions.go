package invariant

import (
	"encoding/json"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// clicksAreKept is I1: an answer that was taken is in the store and in the trail.
func (h *history) clicksAreKept() {
	audited := map[approvals.DecisionID]*approvals.AuditEntry{}
	for _, e := range h.entries(approvals.AuditDecision) {
		audited[fact(e).Decision] = e
	}
	for _, c := range h.Clicks {
		r := h.requests[c.Request]
		if r == nil {
			h.broken(1, "%s of %s was taken about request %s, which is not there", c.Verdict, c.By, c.Request)
			continue
		}
		same := func(d approvals.Decision) bool { return d.By == c.By && d.Verdict == c.Verdict }
		if !slices.ContainsFunc(r.Decisions, same) {
			h.broken(1, "%s of %s was taken about request %s, which does not have it", c.Verdict, c.By, c.Request)
		}
	}
	for _, r := range h.requests {
		for _, d := range r.Decisions {
			if e := audited[d.ID]; e == nil || e.Actor != string(d.By) || e.Request != r.ID {
				h.broken(1, "decision %s about request %s is not in the trail", d.ID, r.ID)
			}
		}
	}
}

// told returns the entry that tells that this became of the request, or nil.
func (h *history) told(id approvals.RequestID, became approvals.AuditAction) *approvals.AuditEntry {
	for _, e := range h.entries(became) {
		if e.Request == id {
			return e
		}
	}
	return nil
}

// quorum says why the request may not be approved; "" when it may.
func (h *history) quorum(r *approvals.Request) string {
	var people []approvals.UserID // who have taken part in an answer: none of them takes part in another one
	votes := 0
	for _, d := range r.Decisions {
		switch {
		case d.Void != "" || !d.Verdict.Affirms():
			continue
		case d.Standing != nil && !h.stands(r, &d):
			return "the answer to another one that it follows from was not given"
		case d.Verdict == approvals.BreakGlass:
			return ""
		case overdue(r, d.At):
			return "it had expired when " + string(d.By) + " approved it"
		case h.Deciders != nil && !slices.Contains(h.Deciders, d.By):
			return string(d.By) + " may not decide"
		case d.By == r.Requester && !r.Requirement.SelfApproval:
			return "the requester approved it"
		}
		if slices.Contains(people, d.By) || slices.Contains(people, d.For) {
			continue
		}
		votes++
		if people = append(people, d.By); d.For != "" {
			people = append(people, d.For)
		}
	}
	settler := r.Settler()
	alone := settler != nil && slices.Contains([]approvals.Verdict{approvals.MarkDone, approvals.GiveUp,
		approvals.ProvideResult, approvals.ProvideInput, approvals.Answer}, settler.Verdict)
	need := len(r.Requirement.Seats)
	if alone {
		need = 1
	}
	if votes < need {
		return "fewer people approved it than it takes"
	}
	return ""
}

// stands reports whether the person has given the answer to another request about the same tool that the decision
// follows from.
func (h *history) stands(r *approvals.Request, d *approvals.Decision) bool {
	other := h.requests[d.Standing.Request]
	if other == nil || other.Tool.Name != r.Tool.Name || other.Agent != r.Agent {
		return false
	}
	return slices.ContainsFunc(other.Decisions, func(given approvals.Decision) bool {
		return given.ID == d.Standing.Decision && given.By == d.By && given.For == d.For && given.Verdict.Affirms()
	})
}

// overdue reports whether the request had expired at the instant. Where the clock was set back since it was made, and
// its times were set anew with it, the instant may be one of the clock before.
func overdue(r *approvals.Request, at time.Time) bool {
	if r.Expires.IsZero() || !at.After(r.Expires) {
		return false
	}
	before := r.Asked.Before(r.Created) && !r.Asked.IsZero() && !at.Before(r.Created)
	return !before || at.After(r.Created.Add(r.Requirement.ExpiresIn))
}

// requestsHaveOneEnd is I6, as far as records show it: a request is settled once, and only what was approved can still
// turn out to be stale. That operations on a request can be put in one order is for a test that records them.
func (h *history) requestsHaveOneEnd() {
	ends := map[approvals.AuditAction]approvals.RequestStatus{
		approvals.AuditRequestApproved:   approvals.RequestApproved,
		approvals.AuditRequestRejected:   approvals.RequestRejected,
		approvals.AuditRequestExpired:    approvals.RequestExpired,
		approvals.AuditRequestStale:      approvals.RequestStale,
		approvals.AuditRequestCancelled:  approvals.RequestCancelled,
		approvals.AuditRequestSuperseded: approvals.RequestSuperseded,
	}
	told := map[approvals.RequestID][]approvals.RequestStatus{}
	for _, e := range h.trail {
		if s, ok := ends[e.Action]; ok {
			told[e.Request] = append(told[e.Request], s)
		}
	}
	for id, list := range told {
		revoked := len(list) == 2 && slices.Contains(list, approvals.RequestApproved) &&
			slices.Contains(list, approvals.RequestStale)
		if len(list) > 1 && !revoked {
			h.broken(6, "request %s was settled more than once: %v", id, list)
		}
		r := h.requests[id]
		if r != nil && (!slices.Contains(list, r.Status) || revoked && r.Status != approvals.RequestStale) {
			h.broken(6, "request %s is %s, and was settled as %v", id, r.Status, list)
		}
	}
	for id, r := range h.requests {
		if r.Status != approvals.RequestPending && told[id] == nil {
			h.broken(6, "request %s is %s, and nothing says when it became so", id, r.Status)
		}
	}
}

// whatWasShownRan is I9: what people were shown, what they decided about and what ran are one call.
func (h *history) whatWasShownRan() {
	for _, r := range h.requests {
		for _, d := range r.Decisions {
			if d.Standing == nil && d.Verdict.Affirms() && d.Digest != r.Digest {
				h.broken(9, "decision %s is about another call than request %s", d.ID, r.ID)
			}
		}
	}
	h.sentAsShown()
	for _, e := range h.effects {
		r := h.requests[e.Request]
		if r == nil || r.Kind != agent.Confirm || standing(r) {
			continue
		}
		if e.Digest != r.Digest {
			h.broken(9, "effect %s is another call than request %s was about", e.ID, r.ID)
		}
		for _, did := range h.Effects {
			if did.Key == e.ID && did.Arguments != "" && !sameJSON(did.Arguments, string(r.Arguments)) {
				h.broken(9, "request %s was about %s, and %s happened", r.ID, r.Arguments, did.Arguments)
			}
		}
	}
}

// sentAsShown is I9 of a call that another system carries out.
func (h *history) sentAsShown() {
	for _, did := range h.Effects {
		r := h.sent[did.Key]
		if r != nil && did.Arguments != "" && !sameJSON(did.Arguments, string(r.Arguments)) {
			h.broken(9, "request %s was about %s, and %s was sent", r.ID, r.Arguments, did.Arguments)
		}
	}
}

// standing reports whether the request was answered for all later calls too, which are not the one it is about.
func standing(r *approvals.Request) bool {
	s := r.Settler()
	return s != nil && s.Verdict == approvals.AlwaysApprove
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	canonical := func(v any) string {
		data, _ := json.Marshal(v) // it was decoded from JSON
		return string(data)
	}
	return canonical(x) == canonical(y)
}
