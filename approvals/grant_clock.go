package approvals

import (
	"context"
	"errors"
	"time"
)

// viaClock is the way of revocations that nobody asked for: see endGrantsAhead.
const viaClock = "clock"

// grantsAhead is by how much a grant must seem to be from the future for the clock to have been wrong: processes that
// share a store may differ by a moment.
const grantsAhead = time.Minute

// endGrantsAhead revokes the grants that were given while the clock was ahead and that allow calls. Nobody can use them
// now, for their age cannot be told; left alone, they would begin anew once the clock has come to where it was then,
// perhaps a year later. Those that reject calls stay: a no holds for too long rather than not at all.
func (w *Worker) endGrantsAhead(ctx context.Context) error {
	all, err := auditWorkspaces(ctx, w.store)
	for _, ws := range all {
		err = errors.Join(err, w.endGrantsAheadOf(ctx, ws))
	}
	return err
}

func (w *Worker) endGrantsAheadOf(ctx context.Context, ws WorkspaceID) error {
	for after := GrantID(""); ; {
		var found []GrantID
		page, now, err := grantsOf(ctx, w.store, ws, after, maxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, g := range page {
			if after = g.ID; g.ahead(now) {
				found = append(found, g.ID)
			}
		}
		for _, id := range found {
			err := update(ctx, w.store, ws, func(c *txn) error {
				g, err := c.Grant(ws, id)
				if err != nil || !g.ahead(c.Now()) { // an earlier try was committed, or somebody else's
					return err
				}
				return c.revokeAhead(g)
			})
			if err != nil {
				return err
			}
		}
	}
}

// ahead reports whether the grant allows calls and was given in what is now the future.
func (g *Grant) ahead(now time.Time) bool {
	return !g.Deny && g.Open() && g.Created.Sub(now) > grantsAhead
}

// revokeAhead records that the grant is revoked because of the clock, and says so where it was given.
func (c *txn) revokeAhead(g *Grant) error {
	g.Revoked, g.RevokedVia = c.Now(), viaClock
	g.RevokedReason = wordsClockWasAhead
	err := c.audit(entry{Action: AuditGrantRevoked, Actor: system, Run: g.Run, Data: auditData{
		Grant: g.ID, Tool: g.Tool, Via: viaClock, Reason: textDigest(g.RevokedReason),
	}})
	if err != nil {
		return err
	}
	c.notify(&Notification{
		Kind: NotifyNotice, Place: g.Place, Run: g.Run,
		Text: wordsGrantOfWrongClock(g.ID, g.Tool),
	})
	return c.PutGrant(g)
}
