package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// permit is what allows one effect: the request that people approved, and what the policy demands now. Policy and
// directory are asked before the transaction, the records are read inside it.
type permit struct {
	x       *execution
	effect  agent.Effect
	request RequestID // empty: the gate let the call through
	current Requirement
	denied  error // why nothing can allow the effect
}

// permit finds out what allows e.
func (j *journal) permit(ctx context.Context, e agent.Effect) (*permit, error) {
	p := &permit{x: j.x, effect: e}
	if !e.Decided && !e.Always {
		if j.x.asksNow(ctx, e) {
			p.denied = fmt.Errorf("%w: the gate of %s asks now", agent.ErrStale, e.Call.Tool)
		}
		return p, nil
	}
	r := j.x.granted(e)
	if r == nil {
		p.denied = fmt.Errorf("%w: no request allows it", agent.ErrStale)
		return p, nil
	}
	p.request = r.ID
	asked := r
	if e.Always {
		asked = j.x.request(agent.Interruption{ID: e.Interruption, Kind: agent.Confirm, Call: e.Call, Definition: e.Definition, Digest: e.Digest}, e.Tool)
	}
	var err error
	if p.current, err = requirement(ctx, j.x.policy, asked); err != nil {
		p.denied = fmt.Errorf("%w: %w", agent.ErrStale, err)
		return p, nil
	}
	if e.Always && !slices.Contains(p.current.Always, ScopeRun) {
		p.denied = fmt.Errorf("%w: %s allows no standing answers", agent.ErrStale, p.current.name())
		return p, nil
	}
	ok, err := newPeople(j.x.directory).approves(ctx, r, p.current)
	if err != nil {
		return nil, err
	}
	if !ok {
		p.denied = fmt.Errorf("%w: %s asks for more now", agent.ErrStale, p.current.name())
	}
	return p, nil
}

// asksNow asks the gate of a call that it let through again when that may have been in an earlier execution: the
// gate may have become stricter since. A gate that fails asks.
func (x *execution) asksNow(ctx context.Context, e agent.Effect) (yes bool) {
	if x.run.StateItems == 0 || e.Tool == nil || e.Tool.NeedsApproval == nil || e.Tool.Audit {
		return false
	}
	defer func() {
		if recover() != nil {
			yes = true
		}
	}()
	yes, err := e.Tool.NeedsApproval(ctx, &e.Call)
	return yes || err != nil
}

// granted returns the newest approved request that covers the effect: the one about this very call, or the one with
// a standing answer for its tool.
func (x *execution) granted(e agent.Effect) *Request {
	for _, r := range slices.Backward(x.requests) {
		if r.Status != RequestApproved {
			continue
		}
		kind := agent.Confirm
		if e.Retry {
			kind = agent.OutcomeUnknown
		}
		if e.Decided && r.Interruption == e.Interruption && r.Kind == kind {
			return r
		}
		if e.Always && r.standing() && r.about(e.Call.Agent, e.Call.Tool, e.Definition) {
			return r
		}
	}
	return nil
}

// begin allows the effect and records its intent. It returns the output of an effect that is done already.
func (p *permit) begin(c *change, run *Run) (*agent.ToolOutput, int, error) {
	rec, err := c.Effect(run.Workspace, run.ID, p.effect.ID)
	fresh := errors.Is(err, ErrNotFound)
	if err != nil && !fresh {
		return nil, 0, err
	}
	if !fresh && !rec.Done.IsZero() {
		return rec.Output, rec.Attempt, nil
	}
	r, err := p.allowing(c)
	if err != nil && !errors.Is(err, agent.ErrStale) {
		return nil, 0, err
	}
	if !fresh && !p.repeatable(r) {
		return nil, 0, agent.ErrOutcomeUnknown
	}
	if err != nil {
		return nil, 0, err
	}
	if fresh {
		rec = &EffectRecord{Workspace: run.Workspace, Run: run.ID, ID: p.effect.ID}
	}
	rec.Attempt++
	return nil, rec.Attempt, p.intend(c, run, rec, r)
}

// repeatable reports whether an effect that was begun before may be begun again.
func (p *permit) repeatable(r *Request) bool {
	return p.effect.Idempotent || p.effect.Retry && r != nil && !r.Applied
}

// intend records the intent. The permission to repeat an effect is used up by it.
func (p *permit) intend(c *change, run *Run, rec *EffectRecord, r *Request) error {
	rec.Tool, rec.Digest, rec.Request = p.effect.Call.Tool, p.effect.Digest, p.request
	rec.Epoch, rec.Intent = run.Epoch, c.now
	if p.effect.Retry && r != nil {
		r.Applied = true
		if err := c.putRequest(r); err != nil {
			return err
		}
	}
	begun := rec.entry(AuditEffectIntent)
	if p.effect.Review {
		begun.Facts["review"] = true
	}
	if err := c.audit(begun); err != nil || fault.NoIntent {
		return err
	}
	return c.PutEffect(rec)
}

// allowing returns the request that allows the effect, nil when none is needed; agent.ErrStale when it no longer does.
func (p *permit) allowing(c *change) (*Request, error) {
	if p.denied != nil {
		return nil, p.denied
	}
	if p.request == "" {
		return nil, nil
	}
	r, err := c.Request(c.ws, p.request)
	if err == nil && p.effect.Always {
		err = p.overruled(c, r)
	}
	switch {
	case err != nil:
		return nil, err
	case r.Status != RequestApproved:
		return nil, fmt.Errorf("%w: request %s is %s", agent.ErrStale, r.ID, r.Status)
	case p.effect.Decided && !sameDigest(r.Digest, p.effect.Digest):
		return nil, fmt.Errorf("%w: request %s was about another call", agent.ErrStale, r.ID)
	case p.effect.Decided && p.lapsed(r, c.now):
		return nil, fmt.Errorf("%w: request %s was approved too long ago", agent.ErrStale, r.ID)
	}
	return r, nil
}

// overruled returns agent.ErrStale when people have said no since the standing answer r, perhaps since the run was claimed:
// to this very call, about which they were asked too, or to all calls of its tool.
func (p *permit) overruled(c *change, standing *Request) error {
	requests, err := c.RequestsOfRun(c.ws, p.x.run.ID)
	if err != nil {
		return err
	}
	e := &p.effect
	for _, r := range requests {
		rejected := r.Status == RequestRejected
		switch {
		case r.Kind == agent.Confirm && r.Interruption == e.Interruption && (rejected || r.Status == RequestExpired):
			return fmt.Errorf("%w: request %s about this very call is %s", agent.ErrStale, r.ID, r.Status)
		case rejected && r.standing() && r.about(e.Call.Agent, e.Call.Tool, e.Definition) && !r.Settled.Before(standing.Settled):
			return fmt.Errorf("%w: request %s rejects all calls of the tool", agent.ErrStale, r.ID)
		}
	}
	return nil
}

// lapsed reports whether the approval is older than either requirement lets it become.
func (p *permit) lapsed(r *Request, now time.Time) bool {
	for _, q := range []Requirement{r.Requirement, p.current} {
		if q.ValidFor > 0 && now.Sub(r.Settled) > q.ValidFor {
			return true
		}
	}
	return false
}
