package pgstore

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

const kindGrant = "grant"

var readGrant = readBy("grants", "record", "", "workspace", "id")

func (t *tx) Grant(ws approvals.WorkspaceID, id approvals.GrantID) (*approvals.Grant, error) {
	g, err := read[approvals.Grant](t, readGrant, kindGrant, []string{string(ws), string(id)}, text(ws), text(id))
	if err != nil {
		return nil, fmt.Errorf("grant %s: %w", id, err)
	}
	return g, nil
}

func (t *tx) GrantsByID(ws approvals.WorkspaceID, ids []approvals.GrantID) ([]*approvals.Grant, error) {
	if err := t.usable(false); err != nil || len(ids) == 0 {
		return nil, err
	}
	keys, of := make([]string, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		keys[i], of[i] = text(id), placeIn("grants", text(ws), text(id))
	}
	list, err := listOf[approvals.Grant](t, of, kindGrant, []string{string(ws)}, 1, `select u.id, r.record
		from unnest($2::text[]) with ordinality as u (id, n)
		cross join lateral (select record from grants where workspace = $1 and id = u.id offset 0) r order by u.n`,
		text(ws), keys)
	if err != nil {
		return nil, fmt.Errorf("grants %v: %w", ids, err)
	}
	return list, nil
}

var putGrant = upsert("grants", 2, "workspace", "id", "agent", "tool", "expires timestamptz", "open bool",
	"record bytea")

func (t *tx) PutGrant(g *approvals.Grant) error {
	if err := errors.Join(t.usable(true), identified("grant", string(g.Workspace), string(g.ID))); err != nil {
		return err
	}
	data, err := t.sealed(g, kindGrant, string(g.Workspace), string(g.ID))
	if err != nil {
		return fmt.Errorf("put grant %s: %w", g.ID, err)
	}
	t.changes(grantsOf(g.Workspace))
	t.put(putGrant, nil, text(g.Workspace), text(g.ID), text(g.Agent), text(g.Tool), g.Expires, g.Open(), data)
	return nil
}

func (t *tx) Grants(ws approvals.WorkspaceID, after approvals.GrantID, limit int) ([]*approvals.Grant, error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	return list[approvals.Grant](t, kindGrant, []string{string(ws)}, 1,
		"select id, record from grants where workspace = $1 and id > $2 order by id limit $3",
		text(ws), text(after), limit)
}

func (t *tx) OpenGrants(ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int) (
	[]*approvals.Grant, error,
) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	of := []string{grantsOf(ws)}
	list, err := listOf[approvals.Grant](t, of, kindGrant, []string{string(ws)}, 1, `select id, record from grants
		where workspace = $1 and agent = $2 and tool = $3 and open and expires > $4 order by expires, id limit $5`,
		text(ws), text(agent), text(tool), at, limit)
	if err != nil {
		return nil, fmt.Errorf("open grants for %s: %w", tool, err)
	}
	return list, nil
}
