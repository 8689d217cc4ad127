package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// DeadLetters lists the notifications of the workspace that were given up, by id, behind the given one, at most limit
// (100 when it is zero or more than that).
func (s *Service) DeadLetters(
	ctx context.Context, ws WorkspaceID, after NotificationID, limit int,
) ([]*Notification, error) {
	return DeadLetters(ctx, s.store, ws, after, limit)
}

// DeadLetters is Service.DeadLetters on a store.
func DeadLetters(
	ctx context.Context, st Store, ws WorkspaceID, after NotificationID, limit int,
) (page []*Notification, err error) {
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	err = st.View(ctx, func(tx Tx) error {
		page, err = tx.DeadLetters(ws, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return page, nil
}

// Replay puts dead letters back into the outbox. It returns how many of the ids were dead letters; the others it leaves
// alone.
func (s *Service) Replay(ctx context.Context, ws WorkspaceID, ids ...NotificationID) (int, error) {
	return Replay(ctx, s.store, ws, ids...)
}

// Replay is Service.Replay on a store.
func Replay(ctx context.Context, st Store, ws WorkspaceID, ids ...NotificationID) (found int, err error) {
	wanted := make(map[NotificationID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	err = update(ctx, st, ws, func(c *txn) error {
		found = 0
		var after NotificationID
		for {
			page, err := c.Tx.DeadLetters(ws, after, maxPage)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, n := range page {
				after = n.ID
				if !wanted[n.ID] {
					continue
				}
				found++
				if err := c.revive(n); err != nil {
					return err
				}
			}
		}
	})
	if err != nil {
		return 0, fmt.Errorf("replay dead letters: %w", err)
	}
	return found, nil
}

// revive puts a dead letter back into its queue.
func (c *txn) revive(n *Notification) error {
	n.Why, n.Attempts, n.Dead = "", 0, noTime // Begun stays: it may be to be seen after all
	if n.Kind == NotifyCard {
		r, err := c.request(n.Request)
		if errors.Is(err, ErrNotFound) {
			return c.DeleteNotification(n) // what it would show is gone
		}
		if err == nil && n.Copy != "" && r.Status == RequestPending && !slices.Contains(r.Called.Copies, n.Copy) {
			r.Called.Copies = append(r.Called.Copies, n.Copy) // it is brought up to date too
			c.touched(r)
		}
	}
	c.dirty.notes = append(c.dirty.notes, n)
	c.plan(deliverJob(n.Key(), c.Now()))
	return c.audit(entry{
		Action: AuditReplayed, Actor: system, Run: n.Run, Request: n.Request, Data: auditData{Kind: string(n.Kind)},
	})
}
