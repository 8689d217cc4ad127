package approvals

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"countersign/internal/fault"
)

// deliverPage is how many notifications of a place are read at once.
const deliverPage = 20

// deliver empties the outbox of the job's place, in order. The first notification that cannot be delivered now holds
// up those behind it.
func (w *Worker) deliver(ctx context.Context, job Job) error {
	if job.Place == nil {
		return nil
	}
	for failed := job.Attempts; ctx.Err() == nil; failed = 0 {
		page, err := w.outbox(ctx, job.Workspace, *job.Place)
		if err != nil || len(page) == 0 {
			return err
		}
		page[0].Attempts = failed // what the job failed at: it stands first until it is delivered
		for len(page) > 0 && ctx.Err() == nil {
			n := page[0]
			same := func(o *Notification) bool {
				return o == n || n.Kind == NotifyCard && o.Kind == NotifyCard && o.Request == n.Request
			}
			batch := slices.Collect(filter(page, same))
			page = slices.DeleteFunc(page, same)
			if err := w.send(ctx, n, batch); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func filter(all []*Notification, keep func(*Notification) bool) func(func(*Notification) bool) {
	return func(yield func(*Notification) bool) {
		for _, n := range all {
			if keep(n) && !yield(n) {
				return
			}
		}
	}
}

// outbox reads what waits, with the requests of cards as they stand in the same snapshot: one delivery then covers
// every entry about the same request that was read with it.
func (w *Worker) outbox(ctx context.Context, ws WorkspaceID, p Place) (page []*Notification, err error) {
	err = w.store.View(ctx, func(tx Tx) error {
		if page, err = tx.Notifications(ws, p, deliverPage); err != nil {
			return err
		}
		for _, n := range page {
			if n.Kind != NotifyCard {
				continue
			}
			if n.Card, err = tx.Request(ws, n.Request); err != nil {
				return fmt.Errorf("card of request %s: %w", n.Request, err)
			}
		}
		return nil
	})
	return page, err
}

// send delivers n and removes the batch it stands for.
func (w *Worker) send(ctx context.Context, n *Notification, batch []*Notification) error {
	fault.Point("outbox.claimed")
	d, err := w.notify(ctx, n)
	fault.Point("outbox.sent_before_mark")
	if err != nil && !errors.Is(err, ErrUndeliverable) {
		return fmt.Errorf("deliver notification %s: %w", n.ID, err)
	}
	if err != nil {
		w.log.WarnContext(ctx, "notification given up", "notification", n.ID, "kind", n.Kind, "run", n.Run, "request", n.Request, "error", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	failed := err
	return update(ctx, w.store, n.Workspace, func(c *change) error {
		for _, sent := range batch {
			if err := c.DeleteNotification(sent); err != nil {
				return err
			}
		}
		if failed != nil {
			return c.undeliverable(n)
		}
		if n.Kind != NotifyCard || d.Message == "" {
			return nil
		}
		return c.shown(n.Request, Card(d))
	})
}

// notify calls the notifier. A notification that makes it panic would do so again, and hold up its place for ever.
func (w *Worker) notify(ctx context.Context, n *Notification) (d Delivery, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.log.ErrorContext(ctx, "notifier panicked", "notification", n.ID, "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %w", ErrUndeliverable, errPanic)
		}
	}()
	ctx, cancel := w.lingering(ctx)
	defer cancel()
	return w.notifier.Notify(ctx, n)
}

// lingering returns a context that ends the drain time after ctx: a message that is on its way when the worker stops
// should arrive and be recorded rather than be sent again.
func (w *Worker) lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(w.drain, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// shown records the message that shows the request.
func (c *change) shown(id RequestID, card Card) error {
	r, err := c.Request(c.ws, id)
	if err != nil || slices.Contains(r.Cards, card) {
		return err
	}
	r.Cards = append(r.Cards, card)
	return c.putRequest(r)
}

// undeliverable records that nobody will see n. A request stays decidable by command; the people of the conversation
// are told once.
func (c *change) undeliverable(n *Notification) error {
	err := c.audit(entry{
		Action: AuditUndeliverable, Actor: system, Run: n.Run, Request: n.Request, Facts: map[string]any{"kind": n.Kind},
	})
	if err != nil || n.Kind != NotifyCard {
		return err
	}
	r, err := c.Request(c.ws, n.Request)
	if err != nil || r.Status != RequestPending {
		return err
	}
	return c.notify(&Notification{
		Kind: NotifyNotice, Place: n.Place, Run: n.Run,
		Text: fmt.Sprintf("The request for approval of %s cannot be shown here. It waits, and can be answered with: countersign approvals decide %s --approve (or --reject) --as USER",
			r.Tool.Name, r.ID),
	})
}
