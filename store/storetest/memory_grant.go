package storetest

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"countersign/approvals"
)

func (t *memoryTx) Grant(ws approvals.WorkspaceID, id approvals.GrantID) (*approvals.Grant, error) {
	return get[approvals.Grant](t, key("grant", ws, string(id)))
}

func (t *memoryTx) GrantsByID(
	ws approvals.WorkspaceID, ids []approvals.GrantID,
) (found []*approvals.Grant, err error) {
	err = t.reading()
	for _, id := range ids {
		g, err := t.Grant(ws, id)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, g)
	}
	return found, err
}

func (t *memoryTx) PutGrant(g *approvals.Grant) error {
	if err := identified(g.Workspace, string(g.ID)); err != nil {
		return err
	}
	return t.put(key("grant", g.Workspace, string(g.ID)), g)
}

func (t *memoryTx) Grants(ws approvals.WorkspaceID, after approvals.GrantID, limit int) ([]*approvals.Grant, error) {
	return list(t, key("grant", ws), limit, func(g *approvals.Grant) bool { return g.ID > after })
}

func (t *memoryTx) OpenGrants(ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int) (
	[]*approvals.Grant, error,
) {
	if limit <= 0 {
		return nil, t.reading()
	}
	open, err := list(t, key("grant", ws), math.MaxInt, func(g *approvals.Grant) bool {
		return g.Agent == agent && g.Tool == tool && g.Open() && g.Expires.After(at)
	})
	slices.SortStableFunc(open, func(a, b *approvals.Grant) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID))
	})
	return open[:min(limit, len(open))], err
}
