package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"countersign/agent"
)

// Revocation ends a grant.
type Revocation struct {
	Workspace WorkspaceID
	Grant     GrantID
	// By is the person who revokes it. RevokeGrant alone takes an empty one, for an operator.
	By UserID
	// Reason is at most 2,000 characters.
	Reason string
	// Via names the way it came, as Decision.Via does.
	Via string
}

// operator is the actor of what somebody did who has the store's file, and need not say who they are.
const operator = "operator"

// RevokeGrant revokes a grant in the name of whoever may write the store. A call that has begun under it goes on; none
// begins afterwards: people are asked again about those that waited when it was given. The grant comes with ErrConflict
// too, when it was revoked before. ErrNotFound, ErrInvalid.
func RevokeGrant(ctx context.Context, st Store, v Revocation) (*Grant, error) {
	v.By = ""
	return revoke(ctx, st, v, nil)
}

// RevokeGrant revokes a grant in the name of a person: one of those who gave it, or one who could decide now what they
// decided then. Anybody else is ErrUnauthorized, also whoever is no regular member of the workspace; see the function
// of the same name for the rest. ErrUnavailable: it cannot be found out whether they may.
func (s *Service) RevokeGrant(ctx context.Context, v Revocation) (*Grant, error) {
	arrived := time.Now()
	if v.By.Workspace() != v.Workspace || v.By.Local() == "" {
		return nil, fmt.Errorf("revoke grant %s: %w", v.Grant, refuse(ErrInvalid, wordsNobodyOf(v.By, v.Workspace)))
	}
	g, err := s.Grant(ctx, v.Workspace, v.Grant)
	if err != nil {
		return nil, fmt.Errorf("revoke: %w", err)
	}
	refused := s.mayRevoke(ctx, g, v.By, arrived)
	if refused != nil && !errors.Is(refused, ErrUnauthorized) {
		return nil, fmt.Errorf("revoke grant %s: %w", v.Grant, refused)
	}
	return revoke(ctx, s.store, v, refused)
}

// mayRevoke returns nil, ErrUnauthorized or ErrUnavailable.
func (s *Service) mayRevoke(ctx context.Context, g *Grant, by UserID, since time.Time) error {
	r, err := s.Request(ctx, g.Workspace, g.Request)
	gone := errors.Is(err, ErrNotFound)
	if err != nil && !gone {
		return err
	}
	at := conversation{ws: g.Workspace, place: g.Place}
	if !gone {
		at = r.conversation()
	}
	people := newGatherer(s.directory, s.policy, at, since)
	if err := people.isRegular(ctx, by); err != nil {
		return err
	}
	if slices.Contains(g.Grantors, by) {
		return nil
	}
	if gone {
		return refuse(ErrUnauthorized, wordsNotTheirGrant)
	}
	current, err := people.demand(ctx, r)
	if err != nil {
		return err
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	people.asOf(now).rights(ctx, []UserID{by}, &current)
	return people.mayAnswer(r.terms(&current, now), voter{by: by})
}

// revoke revokes a grant unless refused, which is audited.
func revoke(ctx context.Context, st Store, v Revocation, refused error) (g *Grant, err error) {
	if utf8.RuneCountInString(v.Reason) > maxReason || !utf8.ValidString(v.Reason) {
		return nil, fmt.Errorf("revoke grant %s: %w", v.Grant, refuse(ErrInvalid, wordsReasonUnusable(maxReason)))
	}
	var answer error
	err = update(ctx, st, v.Workspace, func(c *txn) (err error) {
		answer = refused
		if g, err = c.Grant(v.Workspace, v.Grant); err != nil {
			return err
		}
		if refused != nil {
			return c.audit(v.entry(g, AuditGrantRefused, reason(refused)))
		}
		if !g.Revoked.IsZero() {
			if !c.again || !v.made(g) {
				answer = refuse(ErrConflict, wordsRevokedBefore)
			}
			return nil
		}
		return c.revoke(g, v)
	})
	if err = errors.Join(err, answer); err != nil {
		return g, fmt.Errorf("revoke grant %s: %w", v.Grant, err)
	}
	return g, nil
}

// made reports whether the grant was revoked by v, as far as its record tells.
func (v *Revocation) made(g *Grant) bool {
	return g.RevokedBy == v.By && g.RevokedVia == v.Via && g.RevokedReason == v.Reason
}

// revoke records that the grant is revoked, and says so where it was given.
func (c *txn) revoke(g *Grant, v Revocation) error {
	g.Revoked, g.RevokedBy, g.RevokedVia, g.RevokedReason = c.Now(), v.By, v.Via, v.Reason
	if err := c.audit(v.entry(g, AuditGrantRevoked, "")); err != nil {
		return err
	}
	n := &Notification{Kind: NotifyNotice, Place: g.Place, Run: g.Run, By: v.By}
	n.Text = wordsGrantRevoked(g.Deny, g.ID, g.Tool)
	if v.By == "" {
		n.Text = wordsAnOperator + n.Text
	}
	c.notify(n)
	if err := c.askAgain(g); err != nil {
		return err
	}
	return c.PutGrant(g)
}

// askAgain has people be asked again about the calls that were approved with the grant, as they waited then, and have
// not begun. Of a call that was handed to another system nobody here knows that.
func (c *txn) askAgain(g *Grant) error {
	if g.Deny {
		return nil
	}
	requests, err := c.requestsOf(g.Run)
	if err != nil {
		return err
	}
	for _, r := range requests {
		handed := slices.ContainsFunc(requests, func(o *RequestHead) bool {
			return o.Kind == agent.ExternalResult && o.Interruption == r.Interruption
		})
		if r.Status != RequestApproved || r.Kind != agent.Confirm || r.Outcome != OutcomeNone || handed ||
			!r.restsOn(g.Request) {
			continue
		}
		if err := c.drop(r, RequestStale, wordsAskedAgainRevoked); err != nil {
			return err
		}
		if err := c.requeue(r.Run, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// restsOn reports whether the standing answer to the request id is among what settled r.
func (r *RequestHead) restsOn(id RequestID) bool {
	return slices.ContainsFunc(r.counted(), func(d *Decision) bool {
		return d.Standing != nil && d.Standing.Request == id
	})
}

// entry returns what the audit trail says about it.
func (v *Revocation) entry(g *Grant, action AuditAction, why string) entry {
	actor := string(v.By)
	if v.By == "" {
		actor = operator
	}
	return entry{Action: action, Actor: actor, Run: g.Run, Data: auditData{
		Grant: g.ID, Tool: g.Tool, Via: v.Via, Reason: textDigest(v.Reason), Why: why,
	}}
}
