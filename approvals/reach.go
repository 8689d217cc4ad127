package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
)

// outOfReach says why the quorum cannot be reached any more: somebody has declined, and those who have not answered are
// too few. Empty when it can, or when nobody knows who is left.
func (b *ballot) outOfReach(ctx context.Context) (why string, err error) {
	if b.count(false) == 0 || b.uncounted {
		return "", nil
	}
	for _, q := range []Requirement{b.request.Requirement, b.current} {
		ok, err := b.people.canReach(ctx, b.request, q)
		if err != nil {
			return "", err
		}
		if !ok {
			return fmt.Sprintf("Too few people are left who could approve this: %s needs %d.", q.name(), b.request.needs(q)), nil
		}
	}
	return "", nil
}

// needs returns how many people it takes to affirm r under q: one, where one says what came of a call.
func (r *Request) needs(q Requirement) int {
	if r.Kind == agent.ExternalResult {
		return 1
	}
	return q.Quorum
}

// canReach reports whether the people who affirmed r and those who have not answered can satisfy q together.
func (p *people) canReach(ctx context.Context, r *Request, q Requirement) (bool, error) {
	missing := r.needs(q) - len(r.voters(true))
	if missing <= 0 {
		return true, nil
	}
	ok, _, err := p.enough(ctx, q, r.conversation(), missing, func(u UserID) bool { return r.decidedBy(u) != nil })
	return ok, err
}

// askWhoIsLeft puts the questions that outOfReach takes once d is recorded. No answer holds up the decision.
func (b *ballot) askWhoIsLeft(ctx context.Context, d *Decision) {
	r := *b.request
	r.Decisions = append(slices.Clone(r.Decisions), *d)
	after := *b
	after.request = &r
	if status, err := after.tally(ctx); status != "" || err != nil {
		return
	}
	if _, err := after.outOfReach(ctx); errors.Is(err, ErrUnavailable) {
		b.uncounted = true
	}
}
