package approvals

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// queue is the delivery of one queue of the outbox by one worker.
type queue struct {
	*Worker
	key    CopyKey
	owner  string          // of the leases, where there are any
	page   []*Notification // what was read, and leased, and is not settled
	failed int             // how often in a row the first notification has failed
	// renew and until are on this process's clock: nothing of the page is begun after renew, and the lease ends at
	// until.
	renew, until time.Time
	clock        storeTime
	// before has what q has leased: whether a delivery of it may have begun, before q's or by q.
	before map[NotificationID]bool
}

// next reads what waits, with the requests of cards as they stand in the same snapshot: one delivery then covers every
// entry about the same request that was read with it. Where several processes deliver, the page is leased first. After
// an error the page is what it was.
func (q *queue) next(ctx context.Context) error {
	var page []*Notification
	var err error
	if exclusive(q.store) {
		err = q.store.View(ctx, func(tx Tx) error {
			if page, err = q.read(tx); err == nil {
				q.clock.hear(tx.Now())
			}
			return err
		})
	} else {
		now := time.Now()
		q.renew, q.until = now.Add(deliverRenew), now.Add(deliverLease)
		err = update(ctx, q.store, q.key.Workspace, func(c *txn) error {
			page, err = q.claim(c)
			return err
		})
	}
	if err == nil {
		q.page = page
	}
	return err
}

// claim reads the page and leases it.
func (q *queue) claim(c *txn) ([]*Notification, error) {
	page, err := q.read(c.Tx)
	if err != nil {
		return nil, err
	}
	q.clock.hear(c.Now())
	for _, n := range page {
		if n.Owner != q.owner { // else this is about the rest of a page, or an earlier try was committed
			what := "notification " + string(c.ws) + " " + string(n.ID)
			left := q.others.left(what, n.Owner, n.LeaseUntil, c.Now(), deliverLease)
			if left > 0 {
				return nil, &RetryError{After: left, Err: errLeased}
			}
			q.before[n.ID] = n.Begun
		}
		// Whoever takes it over from a process that is gone does not know how far that one got.
		n.Owner, n.LeaseUntil, n.Begun = q.owner, c.Now().Add(deliverLease), true
		if err := c.PutNotification(n); err != nil {
			return nil, err
		}
		n.Begun = q.before[n.ID]
	}
	return page, nil
}

// read lists what waits. A card whose request has been deleted has none, and neither has a reminder of a request that
// waits no longer.
func (q *queue) read(tx Tx) (page []*Notification, err error) {
	if page, err = tx.Notifications(q.key.Workspace, q.key.Place, q.key.Copy, deliverPage); err != nil {
		return nil, err
	}
	for _, n := range page {
		if n.Kind == NotifyState {
			if err := n.fillState(tx); err != nil {
				return nil, fmt.Errorf("state of run %s: %w", n.Run, err)
			}
		}
	}
	if err := q.fillCards(tx, page); err != nil {
		return nil, fmt.Errorf("cards of a queue: %w", err)
	}
	return page, nil
}

// fillCards fills in the requests that the page is about, each entry's its own record, and what waits beside them for
// the person whom the queue is for.
func (q *queue) fillCards(tx Tx, page []*Notification) error {
	var ids []RequestID
	for _, n := range page {
		if n.Kind.aboutRequest() {
			ids = append(ids, n.Request)
		}
	}
	whole, err := tx.Requests(q.key.Workspace, ids)
	if err != nil {
		return err
	}
	var cards []*Request
	for _, n := range page {
		if n.Card = nil; !n.Kind.aboutRequest() || len(whole) == 0 || whole[0].ID != n.Request {
			continue // or it was deleted
		}
		if n.Kind == NotifyCard || whole[0].Status == RequestPending {
			n.Card = whole[0]
			cards = append(cards, n.Card)
		}
		whole = whole[1:]
	}
	if err := complement(tx, q.publicURL, cards...); err != nil {
		return err
	}
	return q.fillWaiting(tx, page)
}

// release gives leases up that were not used, so that the next attempt need not wait for their end.
func (q *queue) release(ctx context.Context) {
	if exclusive(q.store) || len(q.page) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	err := update(ctx, q.store, q.key.Workspace, func(c *txn) error {
		held, err := q.held(c, q.page)
		for _, n := range held {
			n.Owner, n.LeaseUntil, n.Begun = "", noTime, q.before[n.ID]
			if err := c.PutNotification(n); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		q.log.WarnContext(ctx, "leases of the outbox not given up", "place", q.key.Place.Key(), "error", err)
	}
}

// held returns those of some that still wait under a lease of q, as they are stored now. The others were delivered or
// taken over by another process, and are no longer for q to change.
func (q *queue) held(c *txn, some []*Notification) (held []*Notification, err error) {
	if exclusive(q.store) {
		return some, nil
	}
	for limit := deliverPage; ; limit *= 4 { // dead letters that were sent again may have come before them
		page, err := c.Notifications(q.key.Workspace, q.key.Place, q.key.Copy, limit)
		if err != nil {
			return nil, err
		}
		held = nil
		for _, n := range page {
			if n.Owner == q.owner && contains(some, n.ID) {
				held = append(held, n)
			}
		}
		if len(held) == len(some) || len(page) < limit {
			return held, nil
		}
	}
}

func contains(all []*Notification, id NotificationID) bool {
	return slices.ContainsFunc(all, func(n *Notification) bool { return n.ID == id })
}
