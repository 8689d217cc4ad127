package approvals

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// permit is what allows one effect: the request that people approved, and what the policy demands now. Policy and
// directory are asked before the transaction, the records are read inside it.
type permit struct {
	x         *execution
	effect    agent.Effect
	nonce     string // of this intent
	authority Authority
	current   Requirement
	voters    []voter // who had affirmed when the people were asked about
	facts     *facts  // what is known of them
	denied    error   // why nothing can allow the effect
	// filler is who has filled in the call, where its gate asks nobody, and filled what the policy demands now of a
	// call that people are asked about.
	filler voter
	filled *Requirement
}

// permit finds out what allows e.
func (j *journal) permit(ctx context.Context, e agent.Effect) (*permit, error) {
	p := &permit{x: j.x, effect: e, nonce: rand.Text()}
	if !e.Decided && !e.Always {
		if j.x.asksNow(ctx, e) {
			p.denied = fmt.Errorf("%w: the gate of %s asks now", agent.ErrStale, e.Call.Tool)
		}
		p.completion(ctx)
		return p, nil
	}
	if id, ok := j.x.covered[e.Interruption]; ok && e.Decided && !e.Retry {
		return p, p.underGrant(ctx, id)
	}
	r := j.x.granted(e)
	if r == nil {
		p.denied = fmt.Errorf("%w: no request allows it", agent.ErrStale)
		return p, nil
	}
	p.authority.Request = r.ID
	if d := r.brokenGlass(); d != nil {
		p.authority.BreakGlass = d.ID
	}
	return p, p.examine(ctx, r)
}

// examine asks what the policy demands now of the call, and whether those who approved r satisfy it.
func (p *permit) examine(ctx context.Context, r *Request) error {
	e, x := &p.effect, p.x
	asked := r
	if e.Always {
		in := agent.Interruption{
			ID: e.Interruption, Kind: agent.Confirm, Call: e.Call, Definition: e.Definition, Digest: e.Digest,
		}
		asked = x.newRequest(in, e.Tool)
		if filled := x.completed(e); filled != nil {
			asked.Editors = filled.fillers()
		}
	}
	g := newGatherer(x.directory, x.policy, r.conversation(), time.Now()).asOf(x.clock.now())
	var err error
	p.current, err = g.demand(ctx, asked)
	if err != nil && p.authority.BreakGlass != "" { // past the policy, also past one that fails
		p.current, err = r.Requirement, nil
	}
	if err != nil {
		p.denied = fmt.Errorf("%w: %w", agent.ErrStale, err)
		return nil
	}
	if e.Always && !slices.Contains(p.current.Always, ScopeRun) { // nor does a policy of high risk
		p.denied = fmt.Errorf("%w: %s allows no standing answers", agent.ErrStale, p.current.name())
		return nil
	}
	var ok bool
	if e.Always {
		ok, err = g.stillStands(ctx, r, asked, &p.current, x.clock.now())
	} else {
		ok, err = g.satisfies(ctx, r, &p.current)
	}
	if err != nil {
		return err
	}
	if !ok {
		p.denied = fmt.Errorf("%w: %s asks for more now", agent.ErrStale, p.current.name())
	}
	p.voters, p.facts = r.voters(true), &g.facts
	for _, v := range p.voters {
		for _, q := range r.demands(&p.current) {
			g.exceptions(ctx, q, v.principal())
		}
	}
	return nil
}

// satisfies reports whether the people who affirmed r satisfy q as it is now. Under a requirement equal to the recorded
// one they were judged when the last of them answered.
func (g *gatherer) satisfies(ctx context.Context, r *Request, q *Requirement) (bool, error) {
	voters := r.voters(true)
	if r.brokenGlass() != nil { // past the policy
		return true, nil
	}
	if r.Requirement.equal(*q) || len(voters) == 0 { // nobody voted where one person said what happened
		return len(voters) >= len(q.Seats) || r.Settler() != nil && r.Settler().Verdict.alone(), nil
	}
	g.rights(ctx, voterIDs(voters), q)
	then := r.terms(q, r.Settled)
	return complete(then.Seats, voters, func(s Seat, v voter) error { return g.maySit(then, s, v) })
}

// stillStands reports whether the people whose standing answer r has could approve a later call under q: now, and by
// themselves as people were named for it. Who may answer only since an escalation may not: nobody was asked about that
// call, and who has filled in its values stands behind it. asked is what people would be asked about it.
func (g *gatherer) stillStands(
	ctx context.Context, r, asked *Request, q *Requirement, now time.Time,
) (bool, error) {
	voters := r.voters(true)
	g.rights(ctx, voterIDs(voters), q)
	t := &terms{q, asked.Principals(), now}
	return complete(t.Seats, voters, func(s Seat, v voter) error { return g.maySit(t, s, v) })
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
// a standing answer for its tool. A permission that is used up comes last: one that was asked for later can have the
// smaller ID, when the clock was ahead before.
func (x *execution) granted(e agent.Effect) *Request {
	kind := agent.Confirm
	if e.Retry {
		kind = agent.OutcomeUnknown
	}
	var used *Request
	for _, r := range slices.Backward(x.requests) {
		switch {
		case r.Status != RequestApproved:
		case e.Decided && r.Interruption == e.Interruption && r.Kind == kind && e.Retry && r.Applied:
			used = cmp.Or(used, r)
		case e.Decided && r.Interruption == e.Interruption && r.Kind == kind:
			return r
		case used == nil && e.Always && r.Overruled == "" && r.standing() &&
			r.about(e.Call.Agent, e.Call.Tool, e.Definition):
			return r
		}
	}
	return used
}

// begin allows the effect and records its intent. It returns what was known of it, and the number of the attempt.
func (p *permit) begin(c *txn, run *Run) (agent.Prior, int, error) {
	rec, err := c.Effect(run.Workspace, run.ID, p.effect.ID)
	fresh := errors.Is(err, ErrNotFound)
	switch {
	case err != nil && !fresh:
		return agent.Prior{}, 0, err
	case !fresh && rec.Nonce == p.nonce: // an earlier try of this transaction was committed
		return agent.Prior{Begun: rec.Attempt > 1}, rec.Attempt, nil
	case !fresh && !rec.Done.IsZero():
		return agent.Prior{Output: rec.Output}, rec.Attempt, c.callEnded(rec)
	}
	r, err := p.allowing(c, run, rec)
	if err != nil && !errors.Is(err, agent.ErrStale) {
		return agent.Prior{}, 0, err
	}
	// Where nothing allows it any more, people are not asked whether it may: it has begun.
	if !fresh && (!p.repeatable(r) || err != nil && !rec.carriedOutElsewhere()) {
		return agent.Prior{}, 0, agent.ErrOutcomeUnknown
	}
	if err != nil {
		return agent.Prior{}, 0, err
	}
	if fresh {
		rec = &EffectRecord{Workspace: run.Workspace, Run: run.ID, ID: p.effect.ID}
	}
	rec.Attempt++
	return agent.Prior{Begun: !fresh}, rec.Attempt, p.intend(c, run, rec, r)
}

// repeatable reports whether an effect that was begun before may be begun again.
func (p *permit) repeatable(r *RequestHead) bool {
	return p.effect.Idempotent || p.effect.Retry && r != nil && !r.Applied
}

// intend records the intent. The permission to repeat an effect is used up by it.
func (p *permit) intend(c *txn, run *Run, rec *EffectRecord, r *RequestHead) error {
	call := &p.effect.Call
	rec.Tool, rec.Digest, rec.Authority = call.Tool, p.effect.Digest, p.authority
	rec.Call, rec.Agent, rec.Kind, rec.Interruption = call.ID, call.Agent, call.Kind, p.effect.Interruption
	rec.Epoch, rec.Intent, rec.Nonce = run.Epoch, c.Now(), p.nonce
	rec.Review = p.effect.Review
	if err := p.markRunning(c, run, r); err != nil {
		return err
	}
	begun, err := c.effectEntry(rec, AuditEffectIntent)
	if err != nil {
		return err
	}
	begun.Data.Review = p.effect.Review
	if begun.Data, err = begun.Data.evidence(&p.current); err != nil { // zero where nobody had to be asked
		return err
	}
	if err := c.audit(begun); err != nil {
		return err
	}
	return c.PutEffect(rec)
}

// markRunning records with the requests about the call that it is running.
func (p *permit) markRunning(c *txn, run *Run, r *RequestHead) error {
	switch {
	case r == nil || !p.effect.Decided && r.Kind != agent.FieldsRequired:
		return nil
	case !p.effect.Retry && slices.Contains(outcomeMoves[r.Outcome], OutcomeRunning):
		return c.became(r, OutcomeRunning)
	case !p.effect.Retry:
		return nil
	}
	r.Applied = true
	c.touched(r)
	return c.callBecame(run.ID, p.effect.Interruption, OutcomeRunning)
}

// allowing returns the request that allows the effect, nil when none is needed; agent.ErrStale when it no longer does.
// A use of a grant is counted here.
func (p *permit) allowing(c *txn, run *Run, rec *EffectRecord) (*RequestHead, error) {
	if p.denied != nil {
		return nil, p.denied
	}
	if p.authority.Grant != "" {
		return nil, p.useGrant(c, run, rec)
	}
	if p.authority.Request == "" {
		return nil, nil
	}
	r, err := c.request(p.authority.Request)
	if err == nil && p.effect.Always {
		err = errors.Join(p.overruled(c, r), p.undenied(c))
	}
	switch {
	case err != nil:
		return nil, err
	case r.Status != RequestApproved:
		return nil, fmt.Errorf("%w: request %s is %s", agent.ErrStale, r.ID, r.Status)
	case p.effect.Decided && !sameDigest(r.Digest, p.effect.Digest):
		return nil, fmt.Errorf("%w: request %s was about another call", agent.ErrStale, r.ID)
	case (p.effect.Decided || p.filled != nil) && p.lapsed(r, c.Now()):
		return nil, fmt.Errorf("%w: request %s was approved too long ago", agent.ErrStale, r.ID)
	case p.effect.Always && r.Settled.After(c.Now()): // a later rejection may seem to be the earlier one
		return nil, fmt.Errorf("%w: the age of the answer to request %s cannot be told", agent.ErrStale, r.ID)
	case !slices.Equal(r.voters(true), p.voters):
		return nil, fmt.Errorf("%w: request %s has other approvers than before", agent.ErrStale, r.ID)
	}
	return r, p.frozen(r, c.Now())
}

// frozen returns agent.ErrStale when a freeze has begun since people approved r, of whom it does not except all, or it
// cannot be told whether it does.
func (p *permit) frozen(r *RequestHead, now time.Time) error {
	if p.authority.BreakGlass != "" { // past the policy, and past its freezes
		return nil
	}
	current, voters := &p.current, p.voters
	if p.filled != nil {
		current, voters = p.filled, []voter{p.filler}
	}
	for _, v := range voters {
		if err := p.facts.thawedBoth(r, current, v.principal(), now); err != nil {
			return fmt.Errorf("%w: approved by %s before: %w", agent.ErrStale, v.principal().Local(), err)
		}
	}
	return nil
}

// overruled returns agent.ErrStale when people have said no since the standing answer r, perhaps since the run was
// claimed: to this very call, about which they were asked too, or to all calls of its tool.
func (p *permit) overruled(c *txn, standing *RequestHead) error {
	requests, err := c.requestsOf(p.x.run.ID)
	if err != nil {
		return err
	}
	if standing.Overruled != "" {
		return fmt.Errorf("%w: the answer to request %s holds in the place of %s", agent.ErrStale, standing.Overruled,
			standing.ID)
	}
	e := &p.effect
	for _, r := range requests {
		rejected := r.Status == RequestRejected
		switch {
		case r.Kind == agent.Confirm && r.Interruption == e.Interruption && r.Status == RequestPending:
			return fmt.Errorf("%w: request %s about this very call waits", agent.ErrStale, r.ID)
		case r.Kind == agent.Confirm && r.Interruption == e.Interruption && (rejected || r.Status == RequestExpired):
			return fmt.Errorf("%w: request %s about this very call is %s", agent.ErrStale, r.ID, r.Status)
		case p.rejects(r) && !r.Settled.Before(standing.Settled):
			return fmt.Errorf("%w: request %s rejects all calls of the tool", agent.ErrStale, r.ID)
		}
	}
	return nil
}

// rejects reports whether r was settled by a rejection of all calls of the tool that holds still.
func (p *permit) rejects(r *RequestHead) bool {
	e := &p.effect
	return r.Status == RequestRejected && r.Overruled == "" && r.standing() &&
		r.about(e.Call.Agent, e.Call.Tool, e.Definition)
}

// doubtful reports whether it cannot be told how long ago the instant was.
func (p *permit) doubtful(at, now time.Time) bool {
	clock, ok := p.x.store.(Clock)
	return at.After(now) || ok && at.Before(clock.UncertainSince())
}

// lapsed reports whether the approval is older than either requirement lets it become, or its age cannot be told: it
// was given before the store's clock was found to be wrong, or in what is now the future.
func (p *permit) lapsed(r *RequestHead, now time.Time) bool {
	doubtful, current := p.doubtful(r.Settled, now), &p.current
	if p.filled != nil {
		current = p.filled
	}
	for _, q := range r.demands(current) {
		if q.ValidFor > 0 && (doubtful || now.Sub(r.Settled) > q.ValidFor) {
			return true
		}
	}
	return false
}
