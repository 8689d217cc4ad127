package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// maxRevision bounds the arguments or the input of a decision, in bytes.
const maxRevision = 256 << 10

// revision is what a person's arguments, or their input, make of a call.
type revision struct {
	input json.RawMessage // canonical; of ProvideInput
	next  *Request        // the question about the call as it would be
	err   error           // why the call cannot be changed so
	again bool            // the run has to ask again, for its tool was changed
}

// checkRevision refuses arguments and input where they do not belong, and their absence where they do.
func (d *Decision) checkRevision() error {
	switch {
	case (d.Verdict == Edit) != (len(d.Arguments) > 0):
		return refuse(ErrInvalid, wordsGoesWith("arguments", Edit))
	case (d.Verdict == ProvideInput) != (len(d.Input) > 0):
		return refuse(ErrInvalid, wordsGoesWith(wordsValuesToFillIn, ProvideInput))
	case len(d.Arguments)+len(d.Input) > maxRevision:
		return refuse(ErrInvalid, wordsArgumentsTooLong(maxRevision))
	}
	return nil
}

// sameRevision reports whether d says what the recorded decision does, as far as that is recorded with it: what an
// Edit makes of a call is kept with the request about it.
func (d *Decision) sameRevision(old *Decision) bool {
	return d.Verdict != ProvideInput || sameInput(d.Input, old.Input)
}

// takeInto completes the decision by what it comes to.
func (v *revision) takeInto(d *Decision) error {
	switch {
	case v == nil:
		return errNotGathered
	case v.err != nil:
		return v.err
	}
	d.Arguments, d.Input, d.Bound = nil, v.input, v.next.Digest // changed arguments are those of the next request
	return nil
}

// revised reports whether a person has changed the call that the run itself asks about.
func (r *RequestHead) revised() bool { return r.AskedDigest != agent.Digest{} }

// askedDigest is the digest of the call that the run itself asks about.
func (r *RequestHead) askedDigest() agent.Digest {
	if r.revised() {
		return r.AskedDigest
	}
	return r.Digest
}

// answerRevised gives the state the approval of a call that a person changed or completed. What the tool does not take
// any more is no approval: the call is asked about again.
func (r *Request) answerRevised(s *agent.RunState, in agent.Interruption) error {
	opts := agent.ApproveOptions{Arguments: r.Arguments}
	if r.Kind == agent.FieldsRequired {
		opts = agent.ApproveOptions{Fields: r.Settler().Input}
	}
	err := s.Approve(in, opts)
	if errors.Is(err, agent.ErrConfig) {
		return nil
	}
	return err
}

// revise finds out what d makes of the call of r. Nothing is looked up for people whose answer does not count.
func (s *Service) revise(ctx context.Context, g *gatherer, r *Request, d *Decision) *revision {
	now, err := s.now(ctx)
	if err != nil {
		return &revision{err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	}
	result, err := judge(&r.RequestHead, &g.facts, d, now)
	if err != nil {
		return &revision{err: err}
	}
	v := voter{d.By, result.on}
	in, tool, err := s.preview(ctx, r, d)
	if err != nil {
		return &revision{err: err, again: errors.Is(err, ErrStale)}
	}
	rev := &revision{next: r.revisedBy(v, in)}
	rev.next.Explanation = explain(tool, &in.Call)
	rev.next.retitle(tool, &in.Call)
	if d.Verdict == ProvideInput {
		if rev.input, rev.err = filledIn(r.Fields, d.Input, in.Call.Arguments); rev.err == nil {
			rev.err = g.mayFillIn(ctx, r, rev.next, v, now)
		}
		return rev
	}
	if sameDigest(in.Digest, r.Digest) {
		rev.err = refuse(ErrInvalid, wordsSameArguments)
		return rev
	}
	rev.err = g.demandNext(ctx, r, rev.next, now)
	return rev
}

// preview has the saved state of the run say what the call of r would be.
func (s *Service) preview(ctx context.Context, r *Request, d *Decision) (agent.Interruption, *agent.Tool, error) {
	state, err := s.savedState(ctx, r)
	if err != nil {
		return agent.Interruption{}, nil, err
	}
	open := state.Interruptions()
	i := slices.IndexFunc(open, r.asks)
	if i < 0 || !sameDigest(open[i].Digest, r.askedDigest()) {
		return agent.Interruption{}, nil, refuse(ErrStale, wordsNotAskedAnyMore)
	}
	in, err := state.Preview(ctx, open[i], agent.ApproveOptions{Arguments: d.Arguments, Fields: d.Input})
	if err == nil {
		return in, state.Tool(open[i]), nil
	}
	return agent.Interruption{}, nil, unusable(err)
}

// unusable says in the words of this package why a call cannot be changed so.
func unusable(err error) error {
	switch {
	case errors.Is(err, agent.ErrStale), errors.Is(err, agent.ErrUnknownInterruption):
		return refuse(ErrStale, wordsToolChanged)
	case errors.Is(err, agent.ErrToolset), errors.Is(err, agent.ErrUnknownTool):
		return fmt.Errorf("%w: what the tool takes cannot be looked up now", ErrUnavailable)
	}
	text := err.Error()
	if _, after, ok := strings.Cut(text, agent.ErrConfig.Error()+": "); ok { // before that stands which question it was
		text = after
	}
	return refuse(ErrInvalid, text)
}

// savedState reads the state in which the run of r waits.
func (s *Service) savedState(ctx context.Context, r *Request) (*agent.RunState, error) {
	var run *Run
	var saved agent.SavedState
	err := s.store.View(ctx, func(tx Tx) (err error) {
		if run, err = tx.Run(r.Workspace, r.Run); err == nil {
			saved.Head, saved.Chunks, err = tx.State(r.Workspace, r.Run)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the state of run %s: %w", ErrUnavailable, r.Run, err)
	}
	config, err := s.agents.Agent(run.Agent)
	if err != nil {
		return nil, fmt.Errorf("%w: agent %q: %w", ErrUnavailable, run.Agent, err)
	}
	state, err := saved.Decode(config.Agent)
	if err != nil {
		return nil, fmt.Errorf("%w: the state of run %s: %w", ErrUnavailable, r.Run, err)
	}
	return state, nil
}

// revisedBy returns the question about the call as somebody has made it, in, which nobody has been asked yet. Whoever
// changes a call for somebody else, and that person, count both.
func (r *Request) revisedBy(by voter, in agent.Interruption) *Request {
	next := &Request{RequestHead: RequestHead{
		Workspace: r.Workspace, Run: r.Run, Place: r.Place, Requester: r.Requester,
		Kind: r.Kind, Interruption: r.Interruption, Agent: r.Agent, Path: r.Path, Tool: r.Tool,
		Definition: in.Definition, Digest: in.Digest, AskedDigest: r.askedDigest(), Supersedes: r.ID,
		Editors: r.Editors, Secret: r.Secret,
	}}
	for _, u := range by.people() {
		next.Editors = with(next.Editors, u)
	}
	next.Arguments, next.Original, next.Facts = in.Call.Arguments, in.Original, in.Preconditions
	next.Words, next.Order, next.Schema = r.Words, r.Order, r.Schema
	if bytes.Equal(next.Arguments, next.Original) { // changed back
		next.Original = nil
	}
	return next
}

// with returns all, and v behind them unless it is there already.
func with[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(slices.Clip(all), v)
}

// demandNext records with next what it takes to approve the call as it was changed: what the policy demands of it, and
// beside that everything that was demanded of r. It refuses a change that nobody could approve.
func (g *gatherer) demandNext(ctx context.Context, r, next *Request, now time.Time) error {
	var err error
	if next.Requirement, err = g.requirement(ctx, next); err != nil {
		return err
	}
	current, err := look(g.policies, r.ID)
	if err != nil {
		return err
	}
	next.inheritFrom(r.demands(&current))
	next.mergeExpiry()
	next.Called = g.called(ctx, next, now, r.Called.Bare)
	_, _, why, err := g.unmeetable(ctx, next)
	if err == nil && why == "" {
		why, err = g.disjoint(ctx, next)
	}
	switch {
	case errors.Is(err, ErrUnavailable):
		return nil // whoever answers is looked up then
	case err != nil:
		return err
	case why != "":
		return refuse(ErrInvalid, wordsNobodyCouldApprove(why))
	}
	return nil
}

// inheritFrom adds those of the requirements that ask for something else than those that r has.
func (r *RequestHead) inheritFrom(all []*Requirement) {
	for _, q := range all {
		have := r.demands(&r.Requirement)
		if !slices.ContainsFunc(have, func(h *Requirement) bool { return h.equal(*q) }) {
			r.Inherited = append(r.Inherited, *q)
		}
	}
}

// mergeExpiry gives r no more time than any of its requirements does.
func (r *RequestHead) mergeExpiry() {
	own := &r.Requirement
	for i := range r.Inherited {
		q := &r.Inherited[i]
		if q.ExpiresIn > 0 && q.OnExpiry != ExpiryKeep {
			if own.OnExpiry == ExpiryKeep || own.ExpiresIn == 0 {
				own.ExpiresIn, own.OnExpiry = q.ExpiresIn, q.OnExpiry
			}
			own.ExpiresIn = min(own.ExpiresIn, q.ExpiresIn)
		}
	}
}

// inherit takes over from the earlier requests about the same call what still counts of them when the run asks about
// the call as people have made it: who they are, and what was demanded of it before.
func (r *Request) inherit(earlier []*Request) {
	if r.Original == nil {
		return
	}
	for _, o := range earlier {
		if o.Interruption != r.Interruption || o.Kind == agent.ExternalResult {
			continue
		}
		for _, u := range o.Editors {
			r.Editors = with(r.Editors, u)
		}
		if fillers := o.fillers(); fillers != nil {
			r.Supersedes = o.ID
			for _, u := range fillers {
				r.Editors = with(r.Editors, u)
			}
		}
		for i := range o.Inherited {
			r.inheritFrom([]*Requirement{&o.Inherited[i]})
		}
		if r.Kind == agent.Confirm && o.revised() { // it still is not what the model wrote
			r.AskedDigest = r.Digest
		}
	}
}

// disjoint says why no people can meet all requirements of r together, although each can be met: everybody who answers
// must be named by each of them. Empty: they can, or the sets are too large to tell.
func (g *gatherer) disjoint(ctx context.Context, r *Request) (string, error) {
	if len(r.Inherited) == 0 {
		return "", nil
	}
	all := r.demands(&r.Requirement)
	demanded := make([]*terms, len(all))
	var people []UserID
	for i, q := range all {
		ever := q.eventually(r.lifetime())
		demanded[i] = &terms{Requirement: &ever, principals: r.Principals()}
		g.candidates(ctx, &ever, maxLookups)
		for _, seat := range ever.Seats {
			found, err := look(g.left, seat.Approvers.key())
			if err != nil || len(found.found) > maxLookups {
				return "", err
			}
			people = append(people, without(found.found, people)...)
		}
	}
	var could []voter
	g.ownRights(ctx, people, all...)
	for _, u := range people {
		v := voter{by: u}
		if !slices.ContainsFunc(demanded, func(t *terms) bool { return g.mayAnswer(t, v) != nil }) {
			could = append(could, v)
		}
	}
	for _, t := range demanded {
		ok, err := complete(t.Seats, could, func(s Seat, v voter) error { return g.maySit(t, s, v) })
		if err != nil || ok {
			continue
		}
		return wordsNamedByBoth(r.Requirement.name(), r.Inherited[0].name()), nil
	}
	return "", nil
}
