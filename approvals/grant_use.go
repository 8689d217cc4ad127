package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// underGrants answers the open calls that grants cover, before people are asked about them: it approves them for their
// intent to check, and rejects those that a grant denies. It reports whether there were any. Each grant is tried once
// for each call, so that one which does not hold when the call is about to begin leaves it to the people. A call that
// people were asked about stays with them.
func (x *execution) underGrants(ctx context.Context, open []agent.Interruption, t *tried) (found bool, err error) {
	var denied []denial
	for _, in := range open {
		if in.Kind != agent.Confirm || slices.ContainsFunc(x.requests, func(r *Request) bool { return r.asks(in) }) {
			continue
		}
		tool := x.state.Tool(in)
		r := x.newRequest(in, tool)
		grants, now, err := x.covering(ctx, r)
		if err != nil {
			return false, err
		}
		if i := slices.IndexFunc(grants, func(g *Grant) bool { return g.Deny }); i >= 0 {
			if !t.begun[in.ID] { // else it is too late to refuse it
				denied = append(denied, denial{in, grants[i]})
			}
			continue
		}
		if in.Original != nil || tool != nil && tool.External {
			continue // people have made the call what it is, or nothing is executed here that could be a use
		}
		for _, g := range grants {
			if t.grant(in.ID, g.ID) || x.upheld(ctx, g, r, now) != nil {
				continue
			}
			if err := x.state.Approve(in, agent.ApproveOptions{}); err != nil {
				return false, fmt.Errorf("approve %s under grant %s: %w", in.ID, g.ID, err)
			}
			x.covered[in.ID] = g.ID
			found = true
			break
		}
	}
	if len(denied) > 0 {
		return true, x.deny(ctx, denied)
	}
	return found, nil
}

// tried notes what an execution has tried already about a call.
type tried struct {
	recorded map[string]bool
	doubted  map[string]bool
	grants   map[string][]GrantID

	begun map[string]bool // whether the journal has the call as begun
}

func newTried() *tried {
	return &tried{
		recorded: map[string]bool{}, doubted: map[string]bool{}, grants: map[string][]GrantID{},
		begun: map[string]bool{},
	}
}

// grant notes that the grant is tried for the call, and reports whether it was before.
func (t *tried) grant(interruption string, id GrantID) bool {
	if slices.Contains(t.grants[interruption], id) {
		return true
	}
	t.grants[interruption] = append(t.grants[interruption], id)
	return false
}

// covering returns the open grants that cover the call that r would ask about, the earliest to expire first, and the
// store's time.
func (x *execution) covering(ctx context.Context, r *Request) (grants []*Grant, now time.Time, err error) {
	err = x.store.View(ctx, func(tx Tx) (err error) {
		now = tx.Now()
		grants, err = coveringIn(tx, r, now)
		return err
	})
	if err != nil {
		return nil, now, &storeError{err}
	}
	return grants, now, nil
}

// coveringIn is covering in a transaction. It reads all grants for the tool, as one that rejects may be the last of
// them: there can be more than maxGrants since a clock was set back, and in stores from elsewhere.
func coveringIn(tx Tx, r *Request, now time.Time) ([]*Grant, error) {
	for limit := maxGrants; ; limit *= 2 {
		grants, err := tx.OpenGrants(r.Workspace, r.Agent, r.Tool.Name, now, limit)
		if err != nil {
			return nil, fmt.Errorf("grants for %s: %w", r.Tool.Name, err)
		}
		if len(grants) < limit {
			return slices.DeleteFunc(grants, func(g *Grant) bool { return !g.covers(r) }), nil
		}
	}
}

// upheld returns nil while the policy allows the grant for the call that r would ask about, and those who gave it could
// approve that very call. Otherwise the error says why not, in words.
func (x *execution) upheld(ctx context.Context, g *Grant, r *Request, now time.Time) error {
	_, err := newGatherer(x.directory, x.policy, r.conversation(), time.Now()).upholds(ctx, g, r, now)
	return err
}

// upholds is upheld, and returns what the policy demands now.
func (p *gatherer) upholds(ctx context.Context, g *Grant, r *Request, now time.Time) (q Requirement, err error) {
	if g.Deny {
		return q, nil // a no holds whoever gave it, until it expires or is revoked
	}
	if q, err = p.requirement(ctx, r); err != nil {
		return q, err
	}
	return q, p.asOf(now).stillAllowed(ctx, g, &terms{&q, r.Principals(), now})
}

// stillAllowed holds the grant against what the policy demands now of a call that it covers. People who may answer only
// after an escalation do not count: nobody has been asked about this call.
func (p *gatherer) stillAllowed(ctx context.Context, g *Grant, q *terms) error {
	switch {
	case !slices.Contains(q.Always, g.Scope):
		return lapsed(wordsScopeNotAllowed(q.name(), g.Scope))
	case q.now.Sub(g.Created) > q.lasts():
		return lapsed(wordsLastsTooLong(q.name(), q.lasts()))
	}
	p.ownRights(ctx, g.Grantors, q.Requirement)
	for _, u := range g.Grantors {
		switch z, err := p.freezeOn(q.Requirement, u, q.now); {
		case err != nil:
			return fmt.Errorf("%w: %w", agent.ErrStale, err)
		case z != nil:
			return lapsed(wordsFrozenNow(q.name(), z.To))
		}
	}
	ok, err := complete(q.Seats, g.givers(), func(s Seat, v voter) error { return p.maySit(q, s, v) })
	if err != nil {
		return err
	}
	if !ok {
		return lapsed(wordsGiversCouldNot(q.name()))
	}
	return nil
}

// lapsed is an agent.ErrStale with the reason, for people, why a grant covers nothing as the policy is now.
func lapsed(why string) error {
	return fmt.Errorf("%w: %w", agent.ErrStale, refuse(ErrUnauthorized, why))
}

// denial is a call that a grant rejects.
type denial struct {
	in agent.Interruption
	by *Grant
}

// deny tells the model and the people that calls were rejected by grants, and saves that.
func (x *execution) deny(ctx context.Context, all []denial) error {
	for _, d := range all {
		text := fmt.Sprintf("This call was not carried out: people have rejected all such calls for now (%s).", d.by.ID)
		if err := x.state.Reject(d.in, agent.RejectOptions{Message: &text}); err != nil {
			return fmt.Errorf("reject %s by grant %s: %w", d.in.ID, d.by.ID, err)
		}
	}
	err := x.write(ctx, func(c *txn, r *Run) error {
		for _, d := range all {
			err := c.audit(entry{Action: AuditGrantDenied, Actor: system, Run: r.ID, Data: auditData{
				Grant: d.by.ID, Digest: d.in.Digest, Tool: d.in.Call.Tool,
			}})
			if err != nil {
				return err
			}
			c.say(r, wordsDenied(d.in.Call.Tool, d.by.ID))
		}
		return x.saveState(c, r)
	})
	if err != nil {
		return stored(err)
	}
	x.journal.reset()
	return nil
}

// underGrant finds out whether the grant that the call was approved by may be used as people and policies are now.
func (p *permit) underGrant(ctx context.Context, id GrantID) error {
	p.authority.Grant = id
	var g *Grant
	var now time.Time
	err := p.x.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		g, err = tx.Grant(p.x.run.Workspace, id)
		now = tx.Now()
		return err
	})
	if err != nil {
		return &storeError{err}
	}
	r := p.question()
	people := newGatherer(p.x.directory, p.x.policy, r.conversation(), time.Now())
	if p.current, err = people.upholds(ctx, g, r, now); err != nil {
		p.denied = fmt.Errorf("%w: grant %s: %w", agent.ErrStale, id, err)
	}
	p.voters, p.facts = g.givers(), &people.facts
	return nil
}

// question returns what people would be asked about the effect.
func (p *permit) question() *Request {
	e := &p.effect
	return p.x.newRequest(agent.Interruption{
		ID: e.Interruption, Kind: agent.Confirm, Call: e.Call, Definition: e.Definition, Digest: e.Digest,
	}, e.Tool)
}

// lapsedError says that a grant had ended when a call was about to begin under it.
type lapsedError struct {
	grant GrantID
	state GrantState
}

func (e *lapsedError) Error() string { return fmt.Sprintf("grant %s is %s", e.grant, e.state) }

// Unwrap makes the error an agent.ErrStale: the call is asked about.
func (e *lapsedError) Unwrap() error { return agent.ErrStale }

// useGrant checks, in the transaction of the intent, that the grant still holds, and counts the use. An effect that is
// begun again is the same use. rec is the effect's record, nil for none.
func (p *permit) useGrant(c *txn, run *Run, rec *EffectRecord) error {
	g, err := c.Grant(c.ws, p.authority.Grant)
	if err != nil {
		return err
	}
	counted := rec != nil && rec.Grant == g.ID
	state := g.State(c.Now())
	switch {
	case state == GrantUsedUp && counted:
	case state != GrantActive:
		return &lapsedError{g.ID, state}
	case !g.covers(p.question()) || g.Deny:
		return fmt.Errorf("%w: grant %s does not cover this call", agent.ErrStale, g.ID)
	case p.doubtful(g.Created, c.Now()):
		return fmt.Errorf("%w: the age of grant %s cannot be told", agent.ErrStale, g.ID)
	}
	for _, u := range g.Grantors {
		if err := p.facts.thawed(&p.current, u, c.Now()); err != nil {
			return fmt.Errorf("%w: grant %s, given by %s: %w", agent.ErrStale, g.ID, u.Local(), err)
		}
	}
	if err := p.unrejected(c); err != nil {
		return err
	}
	if err := p.undenied(c); err != nil || counted {
		return err
	}
	g.Used++
	if err := c.PutGrant(g); err != nil {
		return err
	}
	c.countUse(run, GrantUse{Grant: g.ID, Tool: g.Tool, Turn: p.x.turn, Calls: 1})
	return c.audit(entry{Action: AuditGrantUsed, Actor: system, Run: run.ID, Data: auditData{
		Grant: g.ID, Digest: p.effect.Digest, Effect: p.effect.ID, Tool: g.Tool,
	}})
}

// unrejected returns agent.ErrStale when people have rejected all calls of the tool in the run, perhaps since the run
// was claimed.
func (p *permit) unrejected(c *txn) error {
	requests, err := c.requestsOf(p.x.run.ID)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(requests, p.rejects); i >= 0 {
		return fmt.Errorf("%w: request %s rejects all calls of the tool", agent.ErrStale, requests[i].ID)
	}
	return nil
}

// undenied returns agent.ErrStale when an open grant rejects the call.
func (p *permit) undenied(c *txn) error {
	grants, err := coveringIn(c, p.question(), c.Now())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(grants, func(g *Grant) bool { return g.Deny }); i >= 0 {
		return fmt.Errorf("%w: grant %s rejects such calls", agent.ErrStale, grants[i].ID)
	}
	return nil
}

// noteLapsed records that a call was about to begin under a grant that had ended.
func (j *journal) noteLapsed(ctx context.Context, e *agent.Effect, refused error) {
	lapsed, ok := errors.AsType[*lapsedError](refused)
	if !ok {
		return
	}
	err := j.x.write(ctx, func(c *txn, r *Run) error {
		return c.audit(entry{Action: AuditGrantLapsed, Actor: system, Run: r.ID, Data: auditData{
			Grant: lapsed.grant, Digest: e.Digest, Effect: e.ID, Tool: e.Call.Tool, Why: string(lapsed.state),
		}})
	})
	if err != nil {
		j.x.log.WarnContext(ctx, "the audit trail does not say that a grant had ended when it was to be used",
			"run", j.x.run.ID, "grant", lapsed.grant, "state", lapsed.state, "error", err)
	}
}
