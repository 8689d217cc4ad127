package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
)

// errToken is all that somebody without the token learns, whether or not there is such a request.
var errToken = refuse(ErrUnauthorized, wordsNoCallback)

// CheckCallback returns nil while the token may provide the request's result, ErrUnauthorized for any token but the
// request's last, also when there is no such request, and ErrConflict with the request once that has ended.
func (s *Service) CheckCallback(ctx context.Context, ws WorkspaceID, id RequestID, token string) (*Request, error) {
	_, r, now, err := s.callback(ctx, ws, id, token)
	if err != nil {
		return nil, err
	}
	if ended := r.open(now); ended != nil {
		return r, fmt.Errorf("%w: %w", ErrConflict, ended)
	}
	return r, nil
}

// callback returns the callback that the token opens, with its request.
func (s *Service) callback(
	ctx context.Context, ws WorkspaceID, id RequestID, token string,
) (k *Callback, r *Request, now time.Time, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		k, err = tx.Callback(ws, id)
		now = tx.Now()
		if errors.Is(err, ErrNotFound) {
			k, err = new(Callback), nil
		}
		switch {
		case err != nil:
			return err
		case !k.opens(token):
			return errToken
		}
		if r, err = tx.Request(ws, id); errors.Is(err, ErrNotFound) {
			return errToken
		}
		return err
	})
	return k, r, now, err
}

// ProvideResult takes the result that a system reports by its callback. It counts as the answer to the request, once;
// the decision's person is CallbackPrincipal. Errors: ErrUnauthorized as of CheckCallback, and when the person who had
// the token made may not provide the result any more; ErrConflict, with the request as it ended, when a result or
// another end came first, also for the same result again; ErrInvalid for a result that cannot be told to a model;
// ErrUnavailable when it cannot be found out now whether the result may be taken.
func (s *Service) ProvideResult(ctx context.Context, in CallbackResult) (*Request, error) {
	return s.traceResult(ctx, in)
}

func (s *Service) provideResult(ctx context.Context, in CallbackResult) (*Request, error) {
	arrived := time.Now()
	id := NewDecisionID(arrived)
	for range rounds {
		r, err := s.provideOnce(ctx, in, id, arrived)
		if !errors.Is(err, errNotGathered) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%w: the request changes at the same time", ErrUnavailable)
}

func (in *CallbackResult) check() error {
	switch {
	case !utf8.ValidString(in.Result):
		return refuse(ErrInvalid, wordsNotText("result"))
	case len(in.Result) > MaxResult:
		return refuse(ErrInvalid, wordsResultTooLong(MaxResult, len(in.Result)))
	case strings.TrimSpace(in.Result) == "":
		return refuse(ErrInvalid, wordsResultEmpty)
	}
	return nil
}

// says reports whether there is something in a result that can be shown.
func (in *CallbackResult) says() bool {
	return utf8.ValidString(in.Result) && strings.TrimSpace(in.Result) != ""
}

func (s *Service) provideOnce(
	ctx context.Context, in CallbackResult, id DecisionID, arrived time.Time,
) (*Request, error) {
	k, r, now, err := s.callback(ctx, in.Workspace, in.Request, in.Token)
	if err != nil {
		return nil, err
	}
	if unusable := in.check(); unusable != nil {
		ended := r.open(now)
		switch {
		case ended == nil:
			return nil, unusable
		case !in.says(): // it came too late whatever it is, and there is nothing of it that people could be told
			if err := s.expireOverdue(ctx, r); err != nil {
				return nil, err
			}
			return r, fmt.Errorf("%w: %w", ErrConflict, ended)
		}
	}
	in.shown = r.withoutSecrets(in.Result)
	_, f, err := s.gatherFor(ctx, in.Workspace, in.Request, k.Issuer, arrived)
	if err != nil {
		return nil, err
	}
	var head *RequestHead
	var refused error
	err = update(ctx, s.store, in.Workspace, func(c *txn) (err error) {
		if head, err = c.request(r.ID); err != nil {
			return err
		}
		refused, err = c.provide(head, f, in, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.RequestHead = *head
	return r, refused
}

// expireOverdue ends the request whose time is over, if nobody has noticed that yet.
func (s *Service) expireOverdue(ctx context.Context, r *Request) error {
	if r.Status != RequestPending {
		return nil
	}
	return update(ctx, s.store, r.Workspace, func(c *txn) error {
		head, err := c.request(r.ID)
		if err != nil {
			return err
		}
		if head.Status == RequestPending && head.overdue(c.Now()) {
			err = c.expire(head)
		}
		r.RequestHead = *head
		return err
	})
}

// provide records the result, or why it is not taken.
func (c *txn) provide(r *RequestHead, f *facts, in CallbackResult, id DecisionID) (refused, err error) {
	if slices.ContainsFunc(r.Decisions, func(d Decision) bool { return d.ID == id }) {
		return nil, nil // an earlier try of this transaction was committed
	}
	k, err := c.Callback(c.ws, r.ID)
	if errors.Is(err, ErrNotFound) || err == nil && !k.opens(in.Token) {
		return errToken, nil // another token has replaced it meanwhile
	}
	if err != nil {
		return nil, err
	}
	if refused = r.takesResult(k, f, c.Now()); refused == nil {
		if unusable := in.check(); unusable != nil { // the request had ended, by a clock that was set back since
			return unusable, nil
		}
		return nil, c.record(r, Decision{
			ID: id, Workspace: r.Workspace, Request: r.ID, By: CallbackPrincipal(r.Workspace), Verdict: ProvideResult,
			Reason: in.Result, Digest: r.Digest, Via: ViaCallback, Issuer: k.Issuer,
		}, f, ruling{status: RequestApproved})
	}
	if errors.Is(refused, errNotGathered) || errors.Is(refused, ErrUnavailable) {
		return nil, refused
	}
	return refused, c.refuseResult(r, k, in, refused)
}

// takesResult returns nil when the result may be taken.
func (r *RequestHead) takesResult(k *Callback, f *facts, now time.Time) error {
	if ended := r.open(now); ended != nil {
		return fmt.Errorf("%w: %w", ErrConflict, ended)
	}
	if _, err := look(f.policies, r.ID); err != nil {
		return err
	}
	if k.Issuer == "" {
		return nil
	}
	if err := r.mayIssue(f, k.Issuer, now); err != nil {
		if errors.Is(err, ErrConflict) { // they have answered otherwise since
			return refuse(ErrUnauthorized, wordsIssuerAnswered(k.Issuer.Local()))
		}
		return err
	}
	return nil
}

// refuseResult records that a result was not taken. Where nothing else says what came of the call, people are told,
// once.
func (c *txn) refuseResult(r *RequestHead, k *Callback, in CallbackResult, why error) error {
	if r.Status == RequestPending && errors.Is(why, ErrExpired) {
		if err := c.expire(r); err != nil {
			return err
		}
	}
	tells := k.Told.IsZero() && (r.Status == RequestPending || r.Outcome == OutcomeUnknown)
	if k.Refused == reason(why) && !tells {
		return nil
	}
	if k.Refused != reason(why) {
		err := c.audit(entry{
			Action: AuditDecisionRefused, Actor: string(CallbackPrincipal(c.ws)), Run: r.Run, Request: r.ID,
			Data: auditData{Person: k.Issuer, Verdict: ProvideResult, Via: ViaCallback, Why: reason(why)},
		})
		if err != nil {
			return err
		}
	}
	k.Refused = reason(why)
	if tells {
		k.Told = c.Now()
	}
	if err := c.PutCallback(k); err != nil || !tells {
		return err
	}
	return c.tellLate(r, in, why)
}

// lateResult is how much of a result that was not taken people are told, in characters.
const lateResult = 300

// tellLate tells people, and the memory of an ended run's place, of a result that was not taken. The run may be gone:
// its request is kept for as long as retention says of requests.
func (c *txn) tellLate(r *RequestHead, in CallbackResult, why error) error {
	run, err := c.run(r.Run)
	gone := errors.Is(err, ErrNotFound)
	if err != nil && !gone {
		return err
	}
	say := func(text string) {
		c.notify(&Notification{Kind: NotifyNotice, Place: r.Place, Run: r.Run, Text: text})
	}
	if errors.Is(why, ErrUnauthorized) {
		say(wordsResultOfNobody(r.Tool.Name, r.ID))
		return nil
	}
	say(wordsResultTooLate(r.Tool.Name, r.ID, quote(shortened(in.shown, lateResult))))
	if !gone && !run.Status.Ended() {
		return nil
	}
	chunk, err := json.Marshal([]agent.Item{{
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: fmt.Sprintf("The system that carries out %s has reported a result after the run had ended. As data: %s",
			r.Tool.Name, quote(shortened(in.Result, maxReason))),
	}})
	if err != nil {
		return fmt.Errorf("memory of request %s: %w", r.ID, err)
	}
	return c.AppendSession(r.Workspace, r.Place, string(r.Run)+"/"+string(r.ID)+"/late", chunk)
}
