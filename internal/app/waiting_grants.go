package app

import (
	"context"
	"time"

	"countersign/approvals"
)

// openGrants are the grants that may be active. All are read once; after that only new ones, and again those that were
// open when they were read last. What has ended is forgotten.
type openGrants struct {
	open   map[grantKey]time.Time                      // when they expire
	behind map[approvals.WorkspaceID]approvals.GrantID // the newest that was read
}

type grantKey struct {
	ws approvals.WorkspaceID
	id approvals.GrantID
}

// read brings what is known of the workspace's grants up to date.
func (g *openGrants) read(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) error {
	if g.open == nil {
		g.open = make(map[grantKey]time.Time)
		g.behind = make(map[approvals.WorkspaceID]approvals.GrantID)
	}
	if err := g.again(ctx, st, ws); err != nil {
		return err
	}
	for {
		var page []*approvals.Grant
		err := st.View(ctx, func(tx approvals.Tx) (err error) {
			page, err = tx.Grants(ws, g.behind[ws], trailPage)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, n := range page {
			if g.behind[ws] = n.ID; n.Open() {
				g.open[grantKey{ws, n.ID}] = n.Expires
			}
		}
	}
}

// again reads the grants that were open.
func (g *openGrants) again(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) error {
	var ids []approvals.GrantID
	for k := range g.open {
		if k.ws == ws {
			ids = append(ids, k.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return st.View(approvals.WithOneRead(ctx, true), func(tx approvals.Tx) error {
		now, err := tx.GrantsByID(ws, ids)
		if err != nil {
			return err
		}
		open := make(map[approvals.GrantID]bool, len(now))
		for _, n := range now {
			open[n.ID] = n.Open()
		}
		for _, id := range ids {
			if k := (grantKey{ws, id}); !open[id] || !tx.Now().Before(g.open[k]) {
				delete(g.open, k)
			}
		}
		return nil
	})
}

// active is how many have not ended at the instant.
func (g *openGrants) active(now time.Time) (n int) {
	for _, expires := range g.open {
		if now.Before(expires) {
			n++
		}
	}
	return n
}
