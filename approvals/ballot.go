package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// ballot is one decision about one request, judged before the transaction to find out whom to ask about, and again
// inside it on what the store then holds.
type ballot struct {
	people    *people
	request   *Request
	current   Requirement // the policy's answer now
	blocked   error       // why it cannot be found out whether a decision counts
	uncounted bool        // it cannot be found out who is left
	now       time.Time
}

// judge says whether d counts. nil: it does. ErrExpired for a pending request whose time has passed: the caller
// settles that.
func (b *ballot) judge(ctx context.Context, d *Decision) error {
	if err := b.open(); err != nil {
		return err
	}
	if b.blocked != nil {
		return b.blocked
	}
	if err := b.fits(d.Verdict); err != nil {
		return err
	}
	if err := b.people.mayAnswer(ctx, b.request, b.current, d.By); err != nil {
		return err
	}
	if b.request.decidedBy(d.By) != nil {
		return fmt.Errorf("%w: one answer per person", ErrConflict)
	}
	if !sameDigest(d.Digest, b.request.Digest) {
		return fmt.Errorf("%w: what was shown is not what the request holds", ErrStale)
	}
	return nil
}

// open returns nil while the request takes answers.
func (b *ballot) open() error {
	r := b.request
	switch r.Status {
	case RequestPending:
		if r.overdue(b.now) {
			return fmt.Errorf("%w: since %s", ErrExpired, r.Expires.Format(time.RFC3339))
		}
		return nil
	case RequestExpired:
		return ErrExpired
	case RequestStale:
		return fmt.Errorf("%w: %s", ErrStale, r.Note)
	default:
		return fmt.Errorf("%w: %s", ErrConflict, r.Status)
	}
}

// overdue reports whether the time for an answer has passed.
func (r *Request) overdue(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// decidedBy returns the person's decision, or nil.
func (r *Request) decidedBy(u UserID) *Decision {
	i := slices.IndexFunc(r.Decisions, func(d Decision) bool { return d.By == u })
	if i < 0 {
		return nil
	}
	return &r.Decisions[i]
}

// kinds says which verdicts a request of a kind takes.
var kinds = map[agent.InterruptionKind][]Verdict{
	agent.Confirm:        {Approve, Reject, AlwaysApprove, AlwaysReject},
	agent.OutcomeUnknown: {Retry, MarkDone, GiveUp},
	agent.ExternalResult: {ProvideResult, Reject},
}

// fits checks that the request takes the verdict. Both requirements must allow a standing answer.
func (b *ballot) fits(v Verdict) error {
	if !slices.Contains(kinds[b.request.Kind], v) {
		return fmt.Errorf("%w: %q does not answer a question of kind %s", ErrInvalid, v, b.request.Kind)
	}
	if !v.standing() {
		return nil
	}
	for _, q := range []Requirement{b.request.Requirement, b.current} {
		if !slices.Contains(q.Always, ScopeRun) {
			return fmt.Errorf("%w: %s allows no standing answers", ErrInvalid, q.name())
		}
	}
	return nil
}

// standing reports whether the verdict is about later calls too.
func (v Verdict) standing() bool { return v == AlwaysApprove || v == AlwaysReject }

// alone reports whether one eligible person suffices for the verdict: it runs nothing.
func (v Verdict) alone() bool { return v == MarkDone || v == GiveUp || v == ProvideResult }

// tally says how the recorded decisions settle the request; the empty status: not yet. The last decision is new.
func (b *ballot) tally(ctx context.Context) (RequestStatus, error) {
	last := b.request.Decisions[len(b.request.Decisions)-1]
	if last.Verdict.alone() {
		return outcomes[last.Verdict.Affirms()], nil
	}
	if !last.Verdict.Affirms() {
		if b.count(false) >= min(b.request.Requirement.DenyQuorum, b.current.DenyQuorum) {
			return RequestRejected, nil
		}
		return "", nil
	}
	if b.count(true) < b.request.Requirement.Quorum {
		return "", nil
	}
	ok, err := b.people.approves(ctx, b.request, b.current)
	if err != nil || !ok {
		return "", err
	}
	return RequestApproved, nil
}

// outcomes says how a request ends by a verdict that affirms, or does not.
var outcomes = map[bool]RequestStatus{true: RequestApproved, false: RequestRejected}

// count returns how many people affirmed, or declined.
func (b *ballot) count(affirm bool) int { return len(b.request.voters(affirm)) }

// voters returns the people who affirmed, or declined. A verdict that settles alone is no vote.
func (r *Request) voters(affirm bool) []UserID {
	var all []UserID
	for _, d := range r.Decisions {
		if d.Verdict.Affirms() == affirm && !d.Verdict.alone() && !slices.Contains(all, d.By) {
			all = append(all, d.By)
		}
	}
	return all
}

// approves reports whether the people who affirmed r satisfy q as it is now. Under a requirement equal to the
// recorded one they were checked when they answered.
func (p *people) approves(ctx context.Context, r *Request, q Requirement) (bool, error) {
	voters := r.voters(true)
	if r.Requirement.equal(q) {
		return len(voters) >= q.Quorum, nil
	}
	found := 0
	for _, u := range voters {
		err := p.seat(ctx, q, r.conversation(), u)
		if err != nil && !errors.Is(err, ErrUnauthorized) {
			return false, err
		}
		if err == nil {
			found++
		}
	}
	return found >= q.Quorum, nil
}

// about reports whether r asks if a call of the tool by the agent may run, the tool being defined so.
func (r *Request) about(agentName, tool string, definition agent.Digest) bool {
	return r.Kind == agent.Confirm && r.Agent == agentName && r.Tool.Name == tool && sameDigest(r.Definition, definition)
}

// standing reports whether the people who settled r meant later calls too: all of them said so, and their number is that
// which the policy demands.
func (r *Request) standing() bool {
	if r.Note != "" { // fewer than it takes to decide
		return false
	}
	affirm := r.Status == RequestApproved
	for _, d := range r.Decisions {
		if d.Verdict.Affirms() == affirm && !d.Verdict.standing() {
			return false
		}
	}
	return true
}
