package invariant

import (
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// effectsAreAllowed is I2: before something happened its intent was recorded, and before that it was allowed.
func (h *history) effectsAreAllowed() {
	intents := map[string]int{}
	for _, e := range h.entries(approvals.AuditEffectIntent) {
		f := fact(e)
		intents[f.Effect]++
		if !slices.Contains(h.Ungated, f.Tool) {
			h.intentIsAllowed(e, f, e.Request)
		}
	}
	for _, e := range h.entries(approvals.AuditTrigger) {
		f := fact(e)
		if f.Kind != string(approvals.TriggerSending) {
			continue
		}
		intents[f.Effect]++
		if !slices.Contains(h.Ungated, f.Tool) {
			h.intentIsAllowed(e, f, h.gate(e.Request))
		}
	}
	for key, n := range h.happened() {
		if n > intents[key] {
			h.broken(2, "effect %s happened %d times, and was begun %d times", key, n, intents[key])
		}
	}
	for _, did := range h.Effects {
		if rec, sent := h.effects[did.Key], h.sent[did.Key]; (rec == nil || rec.Tool != did.Tool) &&
			(sent == nil || sent.Tool.Name != did.Tool) {
			h.broken(2, "%s happened under key %s, which is no effect of that tool", did.Tool, did.Key)
		}
	}
	used := map[approvals.GrantID]int{}
	for _, e := range h.effects {
		if e.Grant != "" {
			used[e.Grant]++
		}
	}
	for id, n := range used {
		if g := h.grants[id]; g != nil && g.Uses > 0 && n > g.Uses {
			h.broken(2, "grant %s is good for %d calls, and %d began under it", id, g.Uses, n)
		}
	}
}

// gate returns the request that asked whether the call may run of which the request wants a result.
func (h *history) gate(id approvals.RequestID) approvals.RequestID {
	result := h.requests[id]
	for _, r := range h.requests {
		if result != nil && r.Kind == agent.Confirm && r.Run == result.Run && r.Interruption == result.Interruption {
			return r.ID
		}
	}
	return ""
}

// intentIsAllowed looks for what allowed an intent: an approval of the request that came before it, or of another one
// for all such calls, or a grant that was in force.
func (h *history) intentIsAllowed(e *approvals.AuditEntry, f facts, id approvals.RequestID) {
	if g := h.grants[approvals.GrantID(f.Grant)]; f.Grant != "" {
		switch {
		case g == nil:
			h.broken(2, "effect %s began under grant %s, which is not there", f.Effect, f.Grant)
		case g.Deny, g.Tool != f.Tool, e.At.Before(g.Created), e.At.After(g.Expires),
			!g.Revoked.IsZero() && e.At.After(g.Revoked), !h.reaches(g, e, f):
			h.broken(2, "effect %s began under grant %s, which did not allow it", f.Effect, f.Grant)
		}
		return
	}
	if f.Standing != "" {
		id = f.Standing
	}
	r, approval := h.requests[id], h.told(id, approvals.AuditRequestApproved)
	switch {
	case r == nil || approval == nil:
		h.broken(2, "effect %s of %s began without an approved request", f.Effect, f.Tool)
		return
	case approval.At.After(e.At):
		h.broken(2, "effect %s began before request %s was approved", f.Effect, id)
	case f.Standing == "" && e.Action == approvals.AuditEffectIntent && r.Requirement.ValidFor > 0 &&
		e.At.Sub(approval.At) > r.Requirement.ValidFor:
		h.broken(2, "effect %s began %s after request %s was approved", f.Effect, e.At.Sub(approval.At), id)
	}
	if stale := h.told(id, approvals.AuditRequestStale); stale != nil && e.At.After(stale.At) {
		h.broken(2, "effect %s began after the approval of request %s was taken back", f.Effect, id)
	}
	if why := h.quorum(r); why != "" {
		h.broken(2, "effect %s ran because of request %s, and %s", f.Effect, id, why)
	}
}

// reaches reports whether the grant is for what the agent did where it did it, as far as records show who and where.
func (h *history) reaches(g *approvals.Grant, e *approvals.AuditEntry, f facts) bool {
	if rec := h.effects[f.Effect]; rec != nil && rec.Agent != "" && rec.Agent != g.Agent {
		return false
	}
	run := h.runs[e.Run]
	switch {
	case run == nil || g.Scope == approvals.ScopeWorkspace:
		return true
	case g.Scope == approvals.ScopeRun:
		return g.Run == run.ID
	case g.Scope == approvals.ScopeThread:
		return g.Place.Key() == run.Place.Key()
	}
	return g.Scope == approvals.ScopeChannel && g.Place.Surface == run.Place.Surface &&
		g.Place.Channel == run.Place.Channel
}

// happened counts what happened by key.
func (h *history) happened() map[string]int {
	count := map[string]int{}
	for _, e := range h.Effects {
		count[e.Key]++
	}
	return count
}

// effectsHappenOnce is I3: at most once, unless the tool is idempotent, or a person has had it repeated.
func (h *history) effectsHappenOnce() {
	for key, n := range h.happened() {
		tool := ""
		if rec := h.effects[key]; rec != nil {
			tool = rec.Tool
		} else if r := h.sent[key]; r != nil {
			tool = r.Tool.Name
		}
		if tool == "" || slices.Contains(h.Idempotent, tool) {
			continue
		}
		if may := 1 + h.repeats(key); n > may {
			h.broken(3, "effect %s of %s happened %d times, and may %d times", key, tool, n, may)
		}
	}
	calls := map[string]string{}
	for _, e := range h.effects {
		key := string(e.Run) + " " + e.Agent + " " + e.Interruption + " " + e.Call
		if other := calls[key]; e.Call != "" && other != "" && h.happened()[other] > 0 && h.happened()[e.ID] > 0 {
			h.broken(3, "call %s of run %s happened as effects %s and %s", e.Call, e.Run, other, e.ID)
		}
		calls[key] = e.ID
	}
}

// repeats counts how often people have asked to have an effect repeated.
func (h *history) repeats(effect string) (n int) {
	seen := map[approvals.RequestID]bool{}
	for _, e := range h.entries(approvals.AuditEffectIntent) {
		r := h.requests[e.Request]
		if fact(e).Effect != effect || r == nil || seen[r.ID] || r.Kind != agent.OutcomeUnknown {
			continue
		}
		seen[r.ID] = true
		if s := r.Settler(); s != nil && s.Verdict == approvals.Retry {
			n++
		}
	}
	return n
}

// staleWorkersWriteNothing is I7, as records show it: every claim of a run has a greater epoch than the one before it,
// nothing begins for a run that nobody works on, and no record has an epoch that its run has not reached.
func (h *history) staleWorkersWriteNothing() {
	claimed := map[approvals.RunID][]int64{}
	for _, e := range h.entries(approvals.AuditRunClaimed) {
		epoch := fact(e).Epoch
		if slices.Contains(claimed[e.Run], epoch) {
			h.broken(7, "run %s was claimed twice with epoch %d", e.Run, epoch)
		}
		claimed[e.Run] = append(claimed[e.Run], epoch)
		if r := h.runs[e.Run]; r != nil && epoch > r.Epoch {
			h.broken(7, "run %s has epoch %d, and was claimed with %d", e.Run, r.Epoch, epoch)
		}
	}
	for _, e := range h.effects {
		told := slices.Contains(claimed[e.Run], e.Epoch) || h.triedAgain(e.Run)
		if r := h.runs[e.Run]; r == nil || e.Epoch > r.Epoch || !told {
			h.broken(7, "effect %s was begun in epoch %d, in which nobody had run %s", e.ID, e.Epoch, e.Run)
		}
	}
	for _, e := range h.entries(approvals.AuditEffectIntent) {
		if may := h.statuses(e); !slices.Contains(may, approvals.RunRunning) && !h.triedAgain(e.Run) {
			h.broken(7, "effect %s began while run %s was %v", fact(e).Effect, e.Run, may)
		}
	}
}

// triedAgain reports whether the run was put back: the trail tells of one that is tried again and again only once.
func (h *history) triedAgain(id approvals.RunID) bool {
	return slices.ContainsFunc(h.entries(approvals.AuditRunRequeued), func(e *approvals.AuditEntry) bool {
		return e.Run == id && fact(e).Why != ""
	})
}

// statuses returns what the run of an entry may have been then: entries of one instant are in no order, and where the
// clock was set back the trail has them in the order in which they were linked, which counts as well.
func (h *history) statuses(of *approvals.AuditEntry) []approvals.RunStatus {
	var before, same, linked []approvals.RunStatus
	var at, last time.Time
	passed := false
	for _, e := range h.trail {
		s, moved := runMoves[e.Action]
		if passed = passed || e == of; !passed && e.Run == of.Run && moved {
			if !e.At.Equal(last) {
				linked, last = nil, e.At
			}
			linked = append(linked, s)
		}
		switch {
		case e.Run != of.Run || !moved || e.At.After(of.At):
		case e.At.Equal(of.At):
			same = append(same, s)
		case e.At.After(at):
			before, at = []approvals.RunStatus{s}, e.At
		case e.At.Equal(at):
			before = append(before, s)
		}
	}
	return slices.Concat(same, before, linked)
}

// runMoves says what a run became.
var runMoves = map[approvals.AuditAction]approvals.RunStatus{
	approvals.AuditRunSubmitted: approvals.RunQueued, approvals.AuditRunRequeued: approvals.RunQueued,
	approvals.AuditRunClaimed: approvals.RunRunning, approvals.AuditRunWaiting: approvals.RunWaiting,
	approvals.AuditRunDone: approvals.RunDone, approvals.AuditRunFailed: approvals.RunFailed,
	approvals.AuditRunCancelled: approvals.RunCancelled,
}
