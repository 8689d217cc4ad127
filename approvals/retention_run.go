package approvals

import (
	"context"
	"errors"
	"slices"
	"time"

	"countersign/agent"
)

// deleteRuns deletes the runs that ended before the instant, the earliest first.
func (s *oldSweep) deleteRuns(ctx context.Context, before time.Time) error {
	seen := make(map[RunID]bool) // and kept
	for {
		var old []RunID
		err := s.view(ctx, func(tx Tx) (err error) {
			old, err = tx.EndedRuns(s.ws, before, len(seen)+stepRecords)
			return err
		})
		if err != nil {
			return err
		}
		old = slices.DeleteFunc(old, func(id RunID) bool { return seen[id] })
		if len(old) == 0 {
			return nil
		}
		err = each(ctx, s, old, &s.count.runs, func(c *txn, id RunID) (fate, error) {
			return c.deleteOldRun(id, before)
		})
		if err != nil {
			return err
		}
		for _, id := range old {
			seen[id] = true
		}
	}
}

// deleteOldRun deletes an ended run with what it owns, unless something about it is still open. A long saved state goes
// before, piece by piece.
func (c *txn) deleteOldRun(id RunID, before time.Time) (fate, error) {
	r, err := c.run(id)
	switch {
	case errors.Is(err, ErrNotFound):
		return fateKept, nil
	case err != nil:
		return fateKept, err
	case !r.Status.Ended() || !r.Ended.Before(before):
		return fateKept, nil
	}
	requests, err := c.requestsOf(id)
	if err != nil {
		return fateKept, err
	}
	effects, err := c.EffectsOfRun(c.ws, id)
	if err != nil || open(requests, effects) {
		return fateKept, err
	}
	if needed, err := c.startsAgain(r); needed || err != nil {
		return fateKept, err
	}
	if more, err := c.DeleteState(c.ws, id, statePieces); more || err != nil {
		return fatePartly, err
	}
	if err := c.DeleteRun(c.ws, id); err != nil {
		return fateKept, err
	}
	return fateGone, c.audit(entry{Action: AuditRunDeleted, Actor: system, Run: id, Data: auditData{
		Before: stamp(before), Effects: len(effects), Why: whyRetention,
	}})
}

// startsAgain reports whether the ended run was started again and what it became has not ended: that begins as the same
// agent, and is told which calls of the old run were carried out.
func (c *txn) startsAgain(r *Run) (bool, error) {
	if r.RetriedAs != "" {
		next, err := c.run(r.RetriedAs)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil && !next.Status.Ended(), err
	}
	queue, err := c.Inputs(c.ws, r.Place, maxQueue)
	return slices.ContainsFunc(queue, func(in *QueuedInput) bool { return in.RetryOf == r.ID }), err
}

// whyRetention is the reason of a deletion in the trail.
const whyRetention = "retention"

// stamp is how the trail writes an instant among its facts.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// open reports whether something about an ended run waits for somebody: an answer, a review of a decision past the
// policy, or word of a call of which nobody knows what came of it, and which nobody has been asked about and answered.
// Of an agent that is used as a tool there is none to wait for: its own calls tell.
func open(requests []*RequestHead, effects []*EffectRecord) bool {
	for _, q := range requests {
		if q.Status == RequestPending || q.AwaitsReview() {
			return true
		}
	}
	for _, e := range effects {
		if e.Kind == agent.KindAgent {
			continue
		}
		f := fateOf(e, requests)
		answered := f.question != nil && f.question.Settler() != nil
		if f.outcome == OutcomeRunning || f.outcome == OutcomeUnknown && !answered {
			return true
		}
	}
	return false
}

// deleteRequests deletes the requests that were settled before the instant. Their ids are in the order in which they
// were made, and none is settled before that.
func (s *oldSweep) deleteRequests(ctx context.Context, before time.Time) error {
	needed, err := s.neededByGrants(ctx)
	if err != nil {
		return err
	}
	query := RequestQuery{Workspace: s.ws, Limit: maxPage}
	for {
		var page []*RequestHead
		var next RequestID
		err := s.view(ctx, func(tx Tx) (err error) {
			page, next, err = tx.QueryRequests(query)
			return err
		})
		if err != nil {
			return err
		}
		var old []RequestID
		for _, r := range page {
			if r.settledBefore(before) && !needed[r.ID] {
				old = append(old, r.ID)
			}
		}
		err = each(ctx, s, old, &s.count.requests, func(c *txn, id RequestID) (fate, error) {
			return c.deleteOldRequest(id, before)
		})
		last := len(page) - 1
		if err != nil || next == "" || last >= 0 && !page[last].Created.Before(before) {
			return err
		}
		query.After = next
	}
}

func (r *RequestHead) settledBefore(t time.Time) bool {
	return r.Status != RequestPending && !r.Settled.IsZero() && r.Settled.Before(t)
}

// neededByGrants names the requests from which grants come that somebody may still use, and so ask about.
func (s *oldSweep) neededByGrants(ctx context.Context) (map[RequestID]bool, error) {
	needed := make(map[RequestID]bool)
	for after := GrantID(""); ; {
		var page []*Grant
		err := s.view(ctx, func(tx Tx) (err error) {
			page, err = tx.Grants(s.ws, after, maxPage)
			return err
		})
		if err != nil || len(page) == 0 {
			return needed, err
		}
		for _, g := range page {
			if after = g.ID; g.State(s.now) == GrantActive {
				needed[g.Request] = true
			}
		}
	}
}

// deleteOldRequest deletes a settled request, unless its run has not ended or something about it is still open. The
// request of a run that is gone had no part in anything that was.
func (c *txn) deleteOldRequest(id RequestID, before time.Time) (fate, error) {
	q, err := c.request(id)
	switch {
	case errors.Is(err, ErrNotFound):
		return fateKept, nil
	case err != nil:
		return fateKept, err
	case !q.settledBefore(before) || q.AwaitsReview():
		return fateKept, nil
	}
	r, err := c.run(q.Run)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return fateKept, err
	case !r.Status.Ended():
		return fateKept, nil
	default:
		busy, err := c.busy(r.ID)
		if err != nil || busy {
			return fateKept, err
		}
	}
	if err := c.DeleteRequest(c.ws, id); err != nil {
		return fateKept, err
	}
	delete(c.requests, id)
	return fateGone, c.audit(entry{Action: AuditRequestDeleted, Actor: system, Run: q.Run, Request: id, Data: auditData{
		Before: stamp(before), Digest: q.Digest, Why: whyRetention,
	}})
}

// busy reports whether something about the run is still open.
func (c *txn) busy(id RunID) (bool, error) {
	requests, err1 := c.requestsOf(id)
	effects, err2 := c.EffectsOfRun(c.ws, id)
	return open(requests, effects), errors.Join(err1, err2)
}
