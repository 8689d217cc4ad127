package approvals

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
)

// ReviewVerdict is what a reviewer says of an emergency decision.
type ReviewVerdict string

// What a reviewer can say. Neither changes what became of the call.
const (
	ReviewAccept ReviewVerdict = "accept"
	ReviewObject ReviewVerdict = "object"
)

// Review is what somebody says afterwards of a decision that was made past the policy.
type Review struct {
	By      UserID        `json:"by"`
	Verdict ReviewVerdict `json:"verdict"`
	Reason  string        `json:"reason"` // at most 2,000 characters, not empty
	Via     string        `json:"via"`
	At      time.Time     `json:"at"` // set by Service
}

// check refuses what no request could take.
func (v *Review) check(ws WorkspaceID) error {
	switch {
	case v.By.Workspace() != ws || v.By.Local() == "":
		return refuse(ErrInvalid, wordsNobodyOf(v.By, ws))
	case v.Verdict != ReviewAccept && v.Verdict != ReviewObject:
		return refuse(ErrInvalid, wordsReviewVerdict(v.Verdict))
	case strings.TrimSpace(v.Reason) == "":
		return refuse(ErrInvalid, wordsReviewWhy)
	case utf8.RuneCountInString(v.Reason) > maxReason || !utf8.ValidString(v.Reason):
		return refuse(ErrInvalid, wordsReasonUnusable(maxReason))
	}
	return nil
}

// Review records what somebody says of the emergency decision about a request: one review each, of a person who may
// decide it themselves now and did not take part in the decision, nor ask for the call. Errors: ErrNotFound;
// ErrInvalid, also where no decision was made past the policy; ErrConflict when it was reviewed before;
// ErrUnauthorized; ErrUnavailable.
func (s *Service) Review(ctx context.Context, ws WorkspaceID, id RequestID, v Review) (*Request, error) {
	r, err := s.review(ctx, ws, id, v)
	if err != nil {
		return nil, fmt.Errorf("review request %s: %w", id, err)
	}
	return r, nil
}

func (s *Service) review(ctx context.Context, ws WorkspaceID, id RequestID, v Review) (*Request, error) {
	arrived := time.Now()
	if err := v.check(ws); err != nil {
		return nil, err
	}
	r, err := s.Request(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if v.repeats(r.Review) {
		return r, nil
	}
	if err := r.reviewable(v.By); err != nil {
		return nil, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	g := newGatherer(s.directory, s.policy, r.conversation(), arrived).asOf(now)
	current, err := g.demand(ctx, r)
	if err != nil {
		return nil, err
	}
	g.ownRights(ctx, []UserID{v.By}, &r.Requirement, &current)
	err = update(ctx, s.store, ws, func(c *txn) error {
		head, err := c.request(id)
		if err != nil {
			return err
		}
		if v.repeats(head.Review) { // an earlier try was committed
			return nil
		}
		if err := head.reviewable(v.By); err != nil {
			return err
		}
		if err := g.mayAnswerBoth(head, &current, voter{by: v.By}, c.Now()); err != nil {
			return err
		}
		return c.reviewed(head, v)
	})
	if err != nil {
		return nil, err
	}
	return s.Request(ctx, ws, id)
}

// repeats reports whether v is the recorded review again.
func (v *Review) repeats(old *Review) bool {
	return old != nil && v.By == old.By && v.Verdict == old.Verdict && v.Reason == old.Reason
}

// reviewable returns nil when the person could review the request, if they may decide it.
func (r *RequestHead) reviewable(by UserID) error {
	d := r.brokenGlass()
	switch {
	case d == nil:
		return refuse(ErrInvalid, wordsNothingToReview)
	case r.Review != nil:
		return refuse(ErrConflict, wordsReviewed(r.Review.By.Local()))
	case by == d.By:
		return refuse(ErrUnauthorized, wordsReviewOwnDecision)
	case slices.Contains(r.Principals(), by):
		return refuse(ErrUnauthorized, wordsReviewOwnRequest)
	}
	return nil
}

// reviewed records the review, and tells the conversation.
func (c *txn) reviewed(r *RequestHead, v Review) error {
	v.At = c.Now()
	r.Review = &v
	c.touched(r)
	c.show(r)
	c.notify(&Notification{
		Kind: NotifyNotice, Place: r.Place, Run: r.Run, By: v.By,
		Text: wordsHasReviewed(v.Verdict == ReviewObject, r.ID, quote(v.Reason)),
	})
	return c.audit(entry{
		Action: AuditRequestReviewed, Actor: string(v.By), Run: r.Run, Request: r.ID,
		Data: auditData{
			Decision: r.brokenGlass().ID, Verdict: Verdict(v.Verdict), Reason: textDigest(v.Reason), Via: v.Via,
		},
	})
}

// sum stands for a review when it is held against the trail; zero for none.
func (v *Review) sum() agent.Digest {
	if v == nil {
		return agent.Digest{}
	}
	return reviewSum(v.By, v.Verdict, textDigest(v.Reason))
}

func reviewSum(by UserID, v ReviewVerdict, reason agent.Digest) agent.Digest {
	b := appendText(appendText(make([]byte, 0, 128), string(by)), string(v))
	return sha256.Sum256(append(b, reason[:]...))
}
