package storetest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"countersign/approvals"
)

type keepsRevoked struct{ approvals.Tx }

func (t keepsRevoked) PutGrant(g *approvals.Grant) error {
	if _, err := t.Grant(g.Workspace, g.ID); err == nil {
		return nil
	}
	return t.Tx.PutGrant(g)
}

// listsEnded looks at all grants to find the open ones, and finds others too.
type listsEnded struct{ approvals.Tx }

func (t listsEnded) OpenGrants(
	ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int,
) ([]*approvals.Grant, error) {
	all, err := t.Tx.Grants(ws, "", math.MaxInt)
	all = slices.DeleteFunc(all, func(g *approvals.Grant) bool {
		return g.Agent != agent || g.Tool != tool || g.Expires.Before(at)
	})
	return all[:min(len(all), max(limit, 0))], err
}

type sortsGrants struct{ approvals.Tx }

func (t sortsGrants) GrantsByID(ws approvals.WorkspaceID, ids []approvals.GrantID) ([]*approvals.Grant, error) {
	return t.Tx.GrantsByID(ws, slices.Sorted(slices.Values(ids)))
}

type listsOpen struct{ approvals.Tx }

func (t listsOpen) Grants(
	ws approvals.WorkspaceID, after approvals.GrantID, limit int,
) ([]*approvals.Grant, error) {
	all, err := t.Tx.Grants(ws, after, limit)
	return slices.DeleteFunc(all, func(g *approvals.Grant) bool { return !g.Open() }), err
}

type grantsById struct{ approvals.Tx }

func (t grantsById) OpenGrants(
	ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int,
) ([]*approvals.Grant, error) {
	all, err := t.Tx.OpenGrants(ws, agent, tool, at, math.MaxInt)
	slices.SortFunc(all, func(a, b *approvals.Grant) int { return cmp.Compare(a.ID, b.ID) })
	return all[:min(len(all), max(limit, 0))], err
}

func (t readsAll) OpenGrants(
	ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int,
) ([]*approvals.Grant, error) {
	if _, err := t.Tx.Grants(ws, "", math.MaxInt); err != nil {
		return nil, err
	}
	return t.Tx.OpenGrants(ws, agent, tool, at, limit)
}
