package boltstore

import (
	"errors"
	"slices"

	"countersign/agent"
	"countersign/approvals"
)

// Format 2 did not record what became of the call that a request is about. outcomeFrom2 finds it out from the effects
// and from what people have said: a call that was carried out must not be taken for one that was not when its run
// ends.
func (t *tx) outcomeFrom2(k, v []byte) error {
	if countParts(k) != 3 {
		return nil
	}
	r := new(approvals.RequestHead)
	if err := t.decode(bucketRuns, k, v, r); err != nil {
		return err
	}
	if r.Status == approvals.RequestPending {
		return nil
	}
	c := callOf2{t: t, request: r}
	if err := c.gather(); err != nil {
		return err
	}
	r.Outcome = c.outcome()
	if r.Outcome != approvals.OutcomeNone {
		r.OutcomeAt = r.Settled
		if c.effect != nil && !c.effect.Done.IsZero() {
			r.OutcomeAt = c.effect.Done
		}
	}
	return errors.Join(c.nameEffect(), t.put(bucketRuns, k, r))
}

// callOf2 is what a file of format 2 has about the call of a request.
type callOf2 struct {
	t       *tx
	request *approvals.RequestHead
	ended   bool                     // the run
	asked   []*approvals.RequestHead // all requests about the call, by id
	effect  *approvals.EffectRecord  // of the call, if it was begun
}

func (c *callOf2) gather() error {
	ws, run := c.request.Workspace, c.request.Run
	r, err := c.t.Run(ws, run)
	switch {
	case err == nil:
		c.ended = r.Status.Ended()
	case !errors.Is(err, approvals.ErrNotFound):
		return err
	}
	all, err := c.t.RequestsOfRun(ws, run)
	if err != nil {
		return err
	}
	ids := make([]approvals.RequestID, 0, 4)
	for _, q := range all {
		if q.Interruption == c.request.Interruption {
			c.asked, ids = append(c.asked, q), append(ids, q.ID)
		}
	}
	effects, err := c.t.EffectsOfRun(ws, run)
	for _, e := range effects {
		if slices.Contains(ids, e.Request) && e.Digest == c.request.Digest {
			c.effect = e
		}
	}
	return err
}

// outcome says what became of the call, as the program would have recorded it.
func (c *callOf2) outcome() approvals.Outcome {
	r := c.request
	approved := r.Status == approvals.RequestApproved
	switch {
	case r.Kind == agent.ExternalResult && approved:
		return approvals.OutcomeRan
	case r.Kind == agent.ExternalResult && r.Status != approvals.RequestRejected:
		return approvals.OutcomeUnknown
	case r.Kind != agent.OutcomeUnknown && !approved:
		return approvals.OutcomeNotRun
	case c.effect != nil && !c.effect.Done.IsZero():
		return c.effect.Outcome()
	}
	if said := c.said(); said != approvals.OutcomeNone {
		return said
	}
	switch {
	case c.effect != nil && c.ended, r.Kind == agent.OutcomeUnknown && !approved:
		return approvals.OutcomeUnknown
	case c.effect != nil:
		return approvals.OutcomeRunning
	case c.ended:
		return approvals.OutcomeNotRun
	}
	return approvals.OutcomeNone
}

// said returns what people say became of a call of which the program does not know.
func (c *callOf2) said() approvals.Outcome {
	for _, q := range slices.Backward(c.asked) {
		if q.Kind != agent.OutcomeUnknown {
			continue
		}
		switch d := q.Settler(); {
		case q.Status == approvals.RequestApproved && d != nil && d.Verdict == approvals.MarkDone:
			return approvals.OutcomeRan
		case q.Status != approvals.RequestApproved: // waits, or was given up
			return approvals.OutcomeUnknown
		}
	}
	return approvals.OutcomeNone
}

// nameEffect notes with the effect which call it is of.
func (c *callOf2) nameEffect() error {
	e := c.effect
	if e == nil || e.Interruption != "" {
		return nil
	}
	e.Agent, e.Interruption = c.request.Agent, c.request.Interruption
	return c.t.put(bucketEffects, key(string(e.Workspace), string(e.Run), e.ID), e)
}
