package approvals_test

import (
	"countersign/agent"
	"countersign/approvals"
)

// invariants checks what must hold at any quiet moment, from the store, the surface and what tools really did.
func (b *bench) invariants(when string) {
	b.Helper()
	trail := b.entries()
	requests := map[approvals.RequestID]*approvals.Request{}
	approved := map[agent.Digest]bool{}
	permits := map[string]int{} // how often an effect may happen
	for _, e := range trail {
		if e.Request != "" && requests[e.Request] == nil {
			requests[e.Request] = b.request(e.Request)
		}
	}
	for _, r := range requests {
		if r.Status == approvals.RequestApproved || r.Status == approvals.RequestStale {
			approved[r.Digest] = true
		}
		for _, d := range r.Decisions {
			if !sameDecisionAudited(trail, d) {
				b.Errorf("%s: I1: decision %s is not in the audit", when, d.ID)
			}
		}
	}
	intents := 0
	for _, e := range trail {
		if e.Action == approvals.AuditEffectIntent {
			intents++
			permits[fact(e, "effect")]++
		}
	}
	seen := map[string]int{}
	for _, done := range b.effects.all() {
		seen[done.id]++
		if permits[done.id] < seen[done.id] {
			b.Errorf("%s: I2: effect %s of %s happened %d times with %d intents",
				when, done.id, done.tool, seen[done.id], permits[done.id])
		}
		if seen[done.id] > 1 && done.tool != "look" && !retried(requests, trail, done.id) {
			b.Errorf("%s: I3: %s happened %d times", when, done.tool, seen[done.id])
		}
	}
	b.gated(when, trail, requests)
	b.limbo(when, trail, requests)
	b.moves(when, trail, requests)
}

// entries returns the audit trail, all of it linked, after verifying the chain (I8).
func (b *bench) entries() (all []*approvals.AuditEntry) {
	b.Helper()
	b.seal()
	b.trail()
	err := approvals.ExportAudit(b.Context(), b.store, ws, func(e *approvals.AuditEntry) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func sameDecisionAudited(trail []*approvals.AuditEntry, d approvals.Decision) bool {
	for _, e := range trail {
		if e.Action == approvals.AuditDecision && e.Actor == string(d.By) && fact(e, "decision") == string(d.ID) {
			return true
		}
	}
	return false
}

// retried reports whether people allowed to repeat the effect.
func retried(requests map[approvals.RequestID]*approvals.Request, trail []*approvals.AuditEntry, id string) bool {
	for _, e := range trail {
		if e.Action != approvals.AuditEffectIntent || fact(e, "effect") != id {
			continue
		}
		r := requests[e.Request]
		if r == nil || r.Kind != agent.OutcomeUnknown {
			continue
		}
		if last := r.Settler(); last != nil && last.Verdict == approvals.Retry {
			return true
		}
	}
	return false
}

// gated checks I2 and I9: behind every intent of a gated tool stands a request that people approved before, about
// exactly that.
func (b *bench) gated(when string, trail []*approvals.AuditEntry, requests map[approvals.RequestID]*approvals.Request) {
	b.Helper()
	approvedAt, grants := map[approvals.RequestID]uint64{}, map[string]bool{}
	for _, e := range trail {
		if e.Action == approvals.AuditGrantCreated || e.Action == approvals.AuditGrantRevoked {
			grants[fact(e, "grant")] = e.Action == approvals.AuditGrantCreated
		}
		if e.Action == approvals.AuditRequestApproved {
			approvedAt[e.Request] = e.Seq
		}
		if e.Action != approvals.AuditEffectIntent || fact(e, "tool") == "note" {
			continue
		}
		if g := fact(e, "grant"); e.Request == "" && grants[g] {
			continue // under a grant that was given before, and not revoked
		}
		r := requests[e.Request]
		if r == nil || approvedAt[e.Request] == 0 {
			b.Errorf("%s: I2: effect %s began without an approved request", when, fact(e, "effect"))
			continue
		}
		standing := r.Settler() != nil && r.Settler().Verdict == approvals.AlwaysApprove
		if !standing && r.Digest.String() != fact(e, "digest") {
			b.Errorf("%s: I9: request %s was about another call", when, r.ID)
		}
	}
}

// limbo checks I4 and I5: runs have ended or wait for a pending request, and cards show the truth.
func (b *bench) limbo(when string, trail []*approvals.AuditEntry, requests map[approvals.RequestID]*approvals.Request) {
	b.Helper()
	open := map[approvals.RunID]bool{}
	for _, r := range requests {
		if r.Status == approvals.RequestPending {
			open[r.Run] = true
		}
		if got := b.surface.status(r.ID); got != r.Status {
			b.Errorf("%s: I5: the card of %s shows %s, it is %s", when, r.ID, got, r.Status)
		}
	}
	for _, e := range trail {
		if e.Action != approvals.AuditRunSubmitted {
			continue
		}
		r := b.run(e.Run)
		if r.Status == approvals.RunWaiting && !open[r.ID] ||
			r.Status == approvals.RunQueued || r.Status == approvals.RunRunning {
			b.Errorf("%s: I4: run %s is %s and nothing will move it", when, r.ID, r.Status)
		}
		if r.Status.Ended() && open[r.ID] {
			b.Errorf("%s: I4: run %s is %s and asks on", when, r.ID, r.Status)
		}
		if r.Status == approvals.RunDone {
			answers := 0
			for _, p := range b.surface.all() {
				if p.kind == approvals.NotifyAnswer {
					answers++
				}
			}
			if answers == 0 {
				b.Errorf("%s: I4: nobody saw the answer of run %s", when, r.ID)
			}
		}
	}
}

// moves checks I8: the last audited move of every record is where the record stands.
func (b *bench) moves(when string, trail []*approvals.AuditEntry, requests map[approvals.RequestID]*approvals.Request) {
	b.Helper()
	runs := map[approvals.RunID]approvals.RunStatus{}
	asked := map[approvals.RequestID]approvals.RequestStatus{}
	for _, e := range trail {
		if s, ok := approvals.RunActions[e.Action]; ok {
			runs[e.Run] = s
		}
		if s, ok := approvals.RequestActions[e.Action]; ok {
			asked[e.Request] = s
		}
	}
	for id, status := range runs {
		if got := b.run(id).Status; got != status {
			b.Errorf("%s: I8: run %s is %s, audited is %s", when, id, got, status)
		}
	}
	for id, status := range asked {
		if got := requests[id].Status; got != status {
			b.Errorf("%s: I8: request %s is %s, audited is %s", when, id, got, status)
		}
	}
}
