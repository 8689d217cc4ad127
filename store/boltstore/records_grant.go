package boltstore

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

func grantKey(g *approvals.Grant) []byte { return key(string(g.Workspace), string(g.ID)) }

// openGrantKey is the index entry of a grant that is Open. Those of a tool are in the order in which they expire, so
// that those which have expired are never looked at.
func openGrantKey(g *approvals.Grant) []byte {
	k := appendNumber(key(string(g.Workspace), g.Agent, g.Tool), instant(g.Expires))
	return appendPart(k, string(g.ID))
}

// grantEntries are the index entries of a grant.
func grantEntries(g *approvals.Grant) []indexEntry {
	if !g.Open() {
		return nil
	}
	return []indexEntry{{bucketGrantsOpen, openGrantKey(g)}}
}

func (t *tx) Grant(ws approvals.WorkspaceID, id approvals.GrantID) (g *approvals.Grant, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	g = new(approvals.Grant)
	if err := t.get(bucketGrants, key(string(ws), string(id)), g); err != nil {
		return nil, fmt.Errorf("grant %s: %w", id, err)
	}
	return g, nil
}

func (t *tx) GrantsByID(ws approvals.WorkspaceID, ids []approvals.GrantID) (list []*approvals.Grant, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	for _, id := range ids {
		g, err := t.Grant(ws, id)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

func (t *tx) PutGrant(g *approvals.Grant) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("grant", string(g.Workspace), string(g.ID))); err != nil {
		return err
	}
	if err := t.putGrant(g); err != nil {
		return fmt.Errorf("put grant %s: %w", g.ID, err)
	}
	return nil
}

func (t *tx) putGrant(g *approvals.Grant) error {
	old := new(approvals.Grant)
	err := t.get(bucketGrants, grantKey(g), old)
	if err != nil && !errors.Is(err, approvals.ErrNotFound) {
		return err
	}
	if err == nil {
		for _, e := range grantEntries(old) {
			if err := t.drop(e.bucket, e.key); err != nil {
				return err
			}
		}
	}
	for _, e := range grantEntries(g) {
		if err := t.mark(e.bucket, e.key); err != nil {
			return err
		}
	}
	return t.put(bucketGrants, grantKey(g), g)
}

func (t *tx) Grants(ws approvals.WorkspaceID, after approvals.GrantID, limit int) (
	list []*approvals.Grant, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix, from := key(string(ws)), []byte(nil)
	if after != "" {
		from = behind(key(string(ws), string(after)))
	}
	err = collect(t, &list, bucketGrants, prefix, from, limit)
	return list, err
}

func (t *tx) OpenGrants(ws approvals.WorkspaceID, agent, tool string, at time.Time, limit int) (
	list []*approvals.Grant, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	prefix := key(string(ws), agent, tool)
	from := appendNumber(key(string(ws), agent, tool), instant(at)+1)
	var ids []string
	err = t.scan(bucketGrantsOpen, prefix, from, func(k, _ []byte) (bool, error) {
		ids = append(ids, lastPart(k[len(prefix)+8:]))
		return len(ids) < limit, nil
	})
	for _, id := range ids {
		if err != nil {
			break
		}
		g := new(approvals.Grant)
		err = t.indexed(bucketGrants, key(string(ws), id), g)
		list = append(list, g)
	}
	if err != nil {
		return nil, fmt.Errorf("open grants for %s: %w", tool, err)
	}
	return list, nil
}
