package app

import (
	"context"
	"errors"
	"sync/atomic"

	"countersign/approvals"
)

// live is the catalog in force, which a reload replaces. Runs under way go on with what replaces it: a call that has
// become another one is asked about again.
type live struct{ current atomic.Pointer[catalog] }

var (
	_ approvals.Agents = (*live)(nil)
	_ approvals.Policy = (*live)(nil)
)

// Agent is part of approvals.Agents.
func (l *live) Agent(name string) (approvals.AgentConfig, error) { return l.current.Load().Agent(name) }

// Requirement is part of approvals.Policy.
func (l *live) Requirement(ctx context.Context, r *approvals.Request) (approvals.Requirement, error) {
	return l.current.Load().Requirement(ctx, r)
}

// front is the service in force, as the bot and the control socket call it. It chooses the agent of a mention by the
// catalog in force, and measures.
type front struct {
	*live
	service atomic.Pointer[approvals.Service]
	metrics *metrics
}

// Submit is part of bot.Service.
func (f *front) Submit(ctx context.Context, in approvals.Submission) (approvals.Receipt, error) {
	in.Agent = f.current.Load().file.AgentFor(in.Place.Channel)
	receipt, err := f.service.Load().Submit(ctx, in)
	f.metrics.submitted(receipt, err)
	return receipt, err
}

// Decide is part of bot.Service.
func (f *front) Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error) {
	done := f.metrics.deciding(d)
	r, err := f.service.Load().Decide(ctx, d)
	done(err)
	return r, err
}

// CancelRun is part of bot.Service.
func (f *front) CancelRun(ctx context.Context, ws approvals.WorkspaceID, id approvals.RunID, by approvals.UserID, reason string) (*approvals.Run, error) {
	return f.service.Load().CancelRun(ctx, ws, id, by, reason)
}

// Run is part of bot.Service.
func (f *front) Run(ctx context.Context, ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	return f.service.Load().Run(ctx, ws, id)
}

// Request is part of bot.Service.
func (f *front) Request(ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	return f.service.Load().Request(ctx, ws, id)
}

// Pending is part of bot.Service.
func (f *front) Pending(ctx context.Context, q approvals.PendingQuery) ([]*approvals.Request, approvals.RequestID, error) {
	return f.service.Load().Pending(ctx, q)
}

// MayDecide is part of bot.Service.
func (f *front) MayDecide(ctx context.Context, r *approvals.Request, u approvals.UserID) error {
	return f.service.Load().MayDecide(ctx, r, u)
}

// MaySee is part of bot.Service.
func (f *front) MaySee(ctx context.Context, r *approvals.Request, u approvals.UserID) error {
	return f.service.Load().MaySee(ctx, r, u)
}

// outcome is the word that metrics use for how a call ended.
func outcome(err error) string {
	for _, o := range []struct {
		fact error
		word string
	}{
		{nil, "ok"}, {approvals.ErrConflict, "conflict"}, {approvals.ErrUnauthorized, "unauthorized"},
		{approvals.ErrUnavailable, "unavailable"}, {approvals.ErrExpired, "expired"}, {approvals.ErrStale, "stale"},
		{approvals.ErrLimit, "limit"}, {approvals.ErrInvalid, "invalid"}, {approvals.ErrNotFound, "not_found"},
		{approvals.ErrUndeliverable, "undeliverable"}, {context.Canceled, "cancelled"},
	} {
		if errors.Is(err, o.fact) {
			return o.word
		}
	}
	return "error"
}
