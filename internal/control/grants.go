package control

import (
	"context"
	"errors"
	"fmt"

	"countersign/approvals"
)

// Granter says how grants stand as policies, people and tools are now; *approvals.Service is one.
type Granter interface {
	Grants(ctx context.Context, ws approvals.WorkspaceID, after approvals.GrantID, limit int) (
		page []approvals.GrantView, next approvals.GrantID, err error)
}

// CursorAtGrant returns the place behind the grant.
func CursorAtGrant(g *approvals.GrantView) Cursor { return Cursor{g.Workspace, string(g.ID)} }

// grantPage is how many grants are read at once: whether each is inert is asked of the policy and the directory.
const grantPage = 50

// Grants is part of Desk. Without a Decider that knows the rules, no grant is said to be inert.
func (l *Local) Grants(ctx context.Context, after Cursor, limit int) (
	page []*approvals.GrantView, more bool, err error,
) {
	read := func(ws approvals.WorkspaceID, behind string, limit int) (
		found []*approvals.GrantView, next string, err error,
	) {
		var views []approvals.GrantView
		var last approvals.GrantID
		limit = min(limit, grantPage)
		if rules, ok := l.Decider.(Granter); ok {
			views, last, err = rules.Grants(ctx, ws, approvals.GrantID(behind), limit)
		} else {
			views, last, err = approvals.ListGrants(ctx, l.Store, ws, approvals.GrantID(behind), limit)
		}
		for i := range views {
			found = append(found, &views[i])
		}
		return found, string(last), err
	}
	return readPage(ctx, l.Store, after, limit, read)
}

// RevokeGrant is part of Desk.
func (l *Local) RevokeGrant(ctx context.Context, id approvals.GrantID, reason string) (*approvals.Grant, error) {
	all, err := workspaces(ctx, l.Store)
	if err != nil {
		return nil, err
	}
	for _, ws := range all {
		g, err := approvals.RevokeGrant(ctx, l.Store, approvals.Revocation{
			Workspace: ws, Grant: id, Reason: reason, Via: l.via(),
		})
		if !errors.Is(err, approvals.ErrNotFound) {
			return g, err
		}
	}
	return nil, fmt.Errorf("grant %s: %w", id, approvals.ErrNotFound)
}
