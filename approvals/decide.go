package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/fault"
)

// maxReason bounds a person's text, in characters.
const maxReason = 2000

// rounds bounds how often a decision is tried again because others decided meanwhile.
const rounds = 4

// Decide records one person's answer to one request. The request is returned as it then stands, also with ErrConflict
// (settled before, or answered by the person before), ErrUnauthorized, ErrExpired and ErrStale; it is nil with
// ErrNotFound, ErrInvalid and ErrUnavailable. Refused answers are audited. Deciding again with the same Decision.ID
// returns the request and nil, so an unknown outcome can be resolved by asking again.
func (s *Service) Decide(ctx context.Context, d Decision) (*Request, error) {
	r, err := s.decide(ctx, d)
	if err == nil {
		return r, nil
	}
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrExpired) || errors.Is(err, ErrStale) {
		return r, fmt.Errorf("decide request %s: %w", d.Request, err)
	}
	return nil, fmt.Errorf("decide request %s: %w", d.Request, err)
}

func (s *Service) decide(ctx context.Context, d Decision) (*Request, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.ID == "" {
		d.ID = NewDecisionID(clock())
	}
	p := newPeople(s.directory)
	p.since = time.Now()
	for range rounds {
		r, err := s.decideOnce(ctx, p, d)
		if !errors.Is(err, errNotAsked) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%w: too many others decide at the same time", ErrUnavailable)
}

// check refuses what no request could take.
func (d *Decision) check() error {
	switch {
	case d.Workspace == "" || d.Request == "":
		return fmt.Errorf("%w: no request", ErrInvalid)
	case d.By.Workspace() != d.Workspace || d.By.Local() == "":
		return fmt.Errorf("%w: %q is nobody of workspace %s", ErrInvalid, d.By, d.Workspace)
	case utf8.RuneCountInString(d.Reason) > maxReason:
		return fmt.Errorf("%w: a reason has at most %d characters", ErrInvalid, maxReason)
	case !utf8.ValidString(d.Reason):
		return fmt.Errorf("%w: the reason is not UTF-8", ErrInvalid)
	case d.Verdict.alone() && strings.TrimSpace(d.Reason) == "":
		return fmt.Errorf("%w: say what happened, for the agent", ErrInvalid)
	}
	return nil
}

// decideOnce asks whom it must, and decides in one transaction. errNotAsked: the store held something else than
// before, and somebody was not asked about.
func (s *Service) decideOnce(ctx context.Context, p *people, d Decision) (*Request, error) {
	seen, err := s.Request(ctx, d.Workspace, d.Request)
	if err != nil {
		return nil, err
	}
	b := &ballot{people: p, request: seen, now: clock()}
	b.ask(ctx, s.policy, &d)
	fault.Point("click.before_tx")

	p.closed = true
	defer func() { p.closed = false }()
	var refused error
	err = update(ctx, s.store, d.Workspace, func(c *change) (err error) {
		b.now = c.now
		b.request, err = c.Request(d.Workspace, d.Request)
		if err != nil {
			return err
		}
		refused, err = c.cast(ctx, b, d)
		return err
	})
	if err == nil {
		err = refused
	}
	return b.request, err
}

// ask puts the questions that judging d takes, so that nothing is asked in the transaction.
func (b *ballot) ask(ctx context.Context, policy Policy, d *Decision) {
	if b.open() != nil {
		return
	}
	b.current, b.blocked = requirement(ctx, policy, b.request)
	if b.blocked != nil {
		return
	}
	err := b.judge(ctx, d)
	if err == nil {
		_, err = b.people.approves(ctx, b.request, b.current)
	}
	if errors.Is(err, ErrUnavailable) {
		b.blocked = err
	}
	if err == nil {
		b.askWhoIsLeft(ctx, d)
	}
}

// cast records d, or why it does not count.
func (c *change) cast(ctx context.Context, b *ballot, d Decision) (refused, err error) {
	fault.Point("click.in_tx")
	if i := slices.IndexFunc(b.request.Decisions, func(old Decision) bool { return old.ID == d.ID }); i >= 0 {
		return d.repeats(b.request.Decisions[i]), nil
	}
	refused = b.judge(ctx, &d)
	if errors.Is(refused, errNotAsked) {
		return nil, refused
	}
	if refused == nil {
		return nil, c.record(ctx, b, d)
	}
	if b.request.Status == RequestPending && errors.Is(refused, ErrExpired) {
		if err := c.expire(b.request); err != nil {
			return nil, err
		}
	}
	return refused, c.audit(entry{
		Action: AuditDecisionRefused, Actor: string(d.By), Run: b.request.Run, Request: b.request.ID,
		Facts: map[string]any{"verdict": d.Verdict, "via": d.Via, "why": reason(refused)},
	})
}

// repeats returns nil when d is the recorded decision again.
func (d *Decision) repeats(old Decision) error {
	if old.By == d.By && old.Verdict == d.Verdict {
		return nil
	}
	return fmt.Errorf("%w: decision id %s was used for another answer", ErrInvalid, d.ID)
}

// record adds d to the request and settles the request when that is enough.
func (c *change) record(ctx context.Context, b *ballot, d Decision) error {
	r := b.request
	d.At = c.now
	r.Decisions = append(r.Decisions, d)
	err := c.audit(entry{
		Action: AuditDecision, Actor: string(d.By), Run: r.Run, Request: r.ID,
		Facts: map[string]any{"decision": d.ID, "verdict": d.Verdict, "via": d.Via, "digest": d.Digest, "policy": b.current.Policy},
	})
	if err != nil {
		return err
	}
	status, err := b.tally(ctx)
	if err != nil {
		return err
	}
	facts := map[string]any{"digest": r.Digest}
	if status == "" {
		if r.Note, err = b.outOfReach(ctx); err != nil {
			return err
		}
		if r.Note != "" {
			status, facts["why"] = RequestRejected, "quorum out of reach"
		}
	}
	if status != "" {
		if err := c.moveRequest(r, status, string(d.By), facts); err != nil {
			return err
		}
		if err := c.requeue(r.Run, r.ID); err != nil {
			return err
		}
	}
	if err := c.putRequest(r); err != nil {
		return err
	}
	if err := c.dropCovered(r); err != nil {
		return err
	}
	return c.show(r)
}

// dropCovered ends the open requests for calls that the standing rejection of r rejects too. It happens with the decision, so
// that nobody approves one of them while the run takes the rejection over, and reads of an approval that nothing follows.
// A standing approval ends none: their policies may ask for more than r's did.
func (c *change) dropCovered(r *Request) error {
	if r.Status != RequestRejected || !r.standing() {
		return nil
	}
	requests, err := c.RequestsOfRun(r.Workspace, r.Run)
	if err != nil {
		return err
	}
	for _, o := range requests {
		if o.Status != RequestPending || !o.about(r.Agent, r.Tool.Name, r.Definition) {
			continue
		}
		if err := c.drop(o, RequestCancelled, "All calls of this tool in this run were rejected."); err != nil {
			return err
		}
	}
	return nil
}

// reason names why something was refused, in one word for the audit trail.
func reason(err error) string {
	for _, is := range []struct {
		err  error
		word string
	}{
		{ErrUnavailable, "unavailable"}, {ErrUnauthorized, "unauthorized"}, {ErrExpired, "expired"}, {ErrStale, "stale"},
		{ErrConflict, "conflict"}, {ErrInvalid, "invalid"}, {ErrLimit, "limit"},
	} {
		if errors.Is(err, is.err) {
			return is.word
		}
	}
	return "error"
}
