package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
)

// errNoPublicURL says what is missing for callbacks.
var errNoPublicURL = refuse(ErrInvalid, wordsNoPublicURL)

// IssueCallback makes the token with which a system outside may provide the result of a request once. The person must
// be allowed to provide it themselves, when the token is made and when the result comes. The token that was made before
// opens nothing any more. It is returned here and kept nowhere. Errors as of Decide; ErrInvalid also without
// ServiceConfig.PublicURL, and for a request that waits for no result.
func (s *Service) IssueCallback(ctx context.Context, in CallbackIssue) (CallbackAddress, error) {
	arrived := time.Now()
	token := newToken()
	var err error
	for range rounds {
		if err = s.issueOnce(ctx, in, token, arrived); !errors.Is(err, errNotGathered) {
			break
		}
	}
	if err != nil {
		return CallbackAddress{}, fmt.Errorf("callback of request %s: %w", in.Request, err)
	}
	return CallbackAddress{URL: callbackURL(s.publicURL, in.Request), Token: token}, nil
}

func (s *Service) issueOnce(ctx context.Context, in CallbackIssue, token string, arrived time.Time) error {
	if s.publicURL == "" {
		return errNoPublicURL
	}
	r, f, err := s.gatherFor(ctx, in.Workspace, in.Request, in.By, arrived)
	if err != nil {
		return err
	}
	var refused error
	err = update(ctx, s.store, in.Workspace, func(c *txn) error {
		head, err := c.request(r.ID)
		if err != nil {
			return err
		}
		if refused = errors.Join(head.mayIssue(f, in.By, c.Now()), head.sendsToken()); refused != nil {
			return c.audit(entry{
				Action: AuditCallbackRefused, Actor: string(in.By), Run: r.Run, Request: r.ID,
				Data: auditData{Via: in.Via, Why: reason(refused)},
			})
		}
		return c.issue(head, token, in.By, in.Via)
	})
	return errors.Join(err, refused)
}

// gatherFor reads the request, and gathers what it takes to say whether somebody may answer it.
func (s *Service) gatherFor(
	ctx context.Context, ws WorkspaceID, id RequestID, by UserID, arrived time.Time,
) (r *Request, f *facts, err error) {
	var now time.Time
	err = s.store.View(ctx, func(tx Tx) error {
		r, err = tx.Request(ws, id)
		now = tx.Now()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	g := newGatherer(s.directory, s.policy, r.conversation(), arrived).asOf(now)
	if current, err := g.demand(ctx, r); err == nil && by != "" {
		g.rights(ctx, []UserID{by}, r.demands(&current)...)
	}
	return r, &g.facts, nil
}

// sendsToken returns ErrConflict while the call is on its way: the token that goes with it would replace one that is
// made now.
func (r *RequestHead) sendsToken() error {
	if r.Trigger == nil || r.Trigger.Status.over() {
		return nil
	}
	return refuse(ErrConflict, wordsTokenOnItsWay)
}

// mayIssue returns nil when the person may have a token made for r: they could provide the result themselves.
func (r *RequestHead) mayIssue(f *facts, by UserID, now time.Time) error {
	if r.Kind != agent.ExternalResult || r.IsQuestion() {
		return refuse(ErrInvalid, wordsNoResultAwaited)
	}
	if err := r.open(now); err != nil {
		return err
	}
	current, err := look(f.policies, r.ID)
	if err != nil {
		return err
	}
	if _, err := f.stands(r, &current, &Decision{By: by}, now); err != nil { // whoever uses it says nothing more
		return err
	}
	if r.decidedBy(by) != nil {
		return refuse(ErrConflict, wordsAnswered(by.Local()))
	}
	return nil
}

// issue records the token. by is empty for the one that goes out with the call.
func (c *txn) issue(r *RequestHead, token string, by UserID, via string) error {
	actor := system
	if by != "" {
		actor = string(by)
	}
	err := c.audit(entry{
		Action: AuditCallbackIssued, Actor: actor, Run: r.Run, Request: r.ID,
		Data: auditData{Digest: r.Digest, Via: via, Token: tokenSum(tokenDigest(token))},
	})
	if err != nil {
		return err
	}
	return c.PutCallback(&Callback{
		Workspace: r.Workspace, Request: r.ID, Token: tokenDigest(token), Issuer: by, Issued: c.Now(),
	})
}
