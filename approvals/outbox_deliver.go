package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"countersign/internal/fault"
)

const (
	// deliverPage is how many notifications of a queue are read at once.
	deliverPage = 20
	// deliverLease is how long a page belongs to whoever delivers it, where several processes do. It is also how long
	// the page waits when that process is gone.
	deliverLease = 20 * time.Second
	// deliverRenew is how long after the page was leased a delivery may still begin; then the rest is leased anew.
	// What is left of the lease is the time that the delivery has: one that takes longer is broken off, and repeated.
	deliverRenew = 5 * time.Second
	// A notification whose delivery goes on failing is given up after deliverFor, and not before deliverTries: an
	// outage of the surface ends sooner.
	deliverFor   = 24 * time.Hour
	deliverTries = 20
	// deliverApart is about how far apart attempts are that go on failing: the longest back-off of stores.
	deliverApart = 50 * time.Second
	// deliverAtOnce is how many queues a worker empties at once, whatever the store has handlers for: each of them
	// keeps a page in memory.
	deliverAtOnce = 64
)

// deliver empties the queue of the job, in order. The first notification that cannot be delivered now holds up those
// behind it.
func (w *Worker) deliver(ctx context.Context, job Job) error {
	if job.Place == nil {
		return nil
	}
	select {
	case w.deliverers <- struct{}{}:
		defer func() { <-w.deliverers }()
	case <-ctx.Done():
		return ctx.Err()
	}
	q := &queue{
		Worker: w, key: CopyKey{job.Workspace, *job.Place, job.Copy}, failed: job.Attempts,
	}
	if !exclusive(w.store) {
		q.owner, q.before = w.start+"/"+rand.Text(), make(map[NotificationID]bool)
	}
	defer func() { q.release(ctx) }()
	for ctx.Err() == nil {
		if err := q.next(ctx); err != nil || len(q.page) == 0 {
			return err
		}
		all := len(q.page) < deliverPage // what has come since has enqueued the job again
		if err := q.sendPage(ctx); err != nil || all && len(q.page) == 0 {
			return err
		}
	}
	return ctx.Err()
}

// sendPage delivers the page, or as much of it as can be begun before its leases are to be renewed or ctx ends.
func (q *queue) sendPage(ctx context.Context) error {
	for len(q.page) > 0 && ctx.Err() == nil && (exclusive(q.store) || time.Now().Before(q.renew)) {
		n := q.page[0]
		n.Attempts = q.failed
		batch, rest := together(q.page)
		for _, o := range batch {
			n.Anew = n.Anew || o.Anew
		}
		if err := q.send(ctx, n, batch); err != nil {
			return err
		}
		q.page, q.failed = rest, 0
	}
	return nil
}

// together splits off the first notification with all others that the same delivery covers: a card, and a reminder,
// shows the request as it stands, a list all that it names, a state how the run stands.
func together(page []*Notification) (batch, rest []*Notification) {
	first := page[0]
	for _, n := range page {
		same := first.Kind.aboutRequest() && n.Kind == first.Kind && n.Request == first.Request
		state := first.Kind == NotifyState && n.Kind == NotifyState && n.Run == first.Run
		if n == first || same || state || first.covers(n) {
			batch = append(batch, n)
		} else {
			rest = append(rest, n)
		}
	}
	return batch, rest
}

// send delivers n and removes the batch it stands for. What can never be delivered becomes a dead letter.
func (q *queue) send(ctx context.Context, n *Notification, batch []*Notification) error {
	fault.Point("outbox.claimed")
	var d Delivery
	var err error
	if !n.Kind.aboutRequest() || n.Card != nil { // else there is nothing to show any more
		traced, end := q.trace(ctx, n, batch)
		d, err = q.notify(traced, n)
		end(q.traced(n, err))
	}
	fault.Point("outbox.sent_before_mark")
	elsewhere := q.elsewhere(ctx, n, d, err)
	more := elsewhere.Bare || len(elsewhere.Copies) > 0
	if err != nil && !q.hopeless(n, err) {
		return fmt.Errorf("deliver notification %s: %w", n.ID, err)
	}
	if err != nil {
		q.log.WarnContext(ctx, "notification given up", "notification", n.ID, "kind", n.Kind, "run", n.Run,
			"request", n.Request, "error", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	commit := update
	if err == nil && !more && n.showsAgain(d) {
		commit = updateSoon
	}
	marked := commit(ctx, q.store, n.Workspace, func(c *txn) error {
		if err := q.settle(c, batch, d, err); err != nil || !more {
			return err
		}
		return c.callElsewhere(n.Request, elsewhere)
	})
	if n.Kind == NotifyCard {
		fault.Point("card.after_ts")
		q.standsAt(n, d)
	}
	return marked
}

// standsAt tells what else was read of the request where its card is now: a reminder behind it leads there.
func (q *queue) standsAt(n *Notification, d Delivery) {
	if d.Message == "" || d.List {
		return
	}
	card := d.card(n)
	for _, o := range q.page {
		if o.Card != nil && o.Request == n.Request && !slices.Contains(o.Card.Cards, card) {
			o.Card.Cards = append(o.Card.Cards, card)
		}
	}
}

// showsAgain reports whether the delivery d of n changed a message that the request knows already. Then all there is to
// record is that n is delivered, and doing it once more would change nothing.
func (n *Notification) showsAgain(d Delivery) bool {
	return n.Kind == NotifyCard && n.Card != nil && !d.List && slices.Contains(n.Card.Cards, d.card(n))
}

// elsewhere returns what else the request is to be shown by; empty where nothing is to change. Its own place turned out
// to be read by people of other organisations; or it was reminded of there, and others may answer by now than were
// called.
func (q *queue) elsewhere(ctx context.Context, n *Notification, d Delivery, err error) (called Called) {
	if n.Copy != "" || n.Card == nil || n.Card.Status != RequestPending {
		return called
	}
	switch {
	case d.Bare && !n.Card.Called.Bare:
		return q.call(ctx, n.Card, q.clock.now(), true)
	case n.Kind == NotifyReminder && err == nil:
		g := newGatherer(q.directory, q.policy, n.Card.conversation(), noTime)
		called.Copies = g.notCalled(ctx, n.Card, q.clock.now())
	}
	return called
}

// callElsewhere shows the request by more messages, but for those that could not be delivered before.
func (c *txn) callElsewhere(id RequestID, called Called) error {
	r, err := c.request(id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || r.Status != RequestPending {
		return err
	}
	had := r.Called.Copies
	if len(called.Copies) > 0 {
		lost, err := c.lostCards()
		if err != nil {
			return err
		}
		called.Copies = slices.DeleteFunc(called.Copies, func(o Copy) bool { return lost[lostCard{id, o}] })
		sent := 0
		for _, o := range had {
			if !o.of(copyHome) { // which calls nobody
				sent++
			}
		}
		called.Copies = called.Copies[:min(len(called.Copies), max(0, mostCopies-sent))]
	}
	r.Called.add(called)
	c.touched(r)
	for _, copyOf := range without(r.Called.Copies, had) {
		c.showCopy(r, copyOf, c.Now())
	}
	return nil
}

// settle removes what a delivery stood for, or makes its first notification a dead letter if it has failed for good,
// and the first about each other request that was to stand in the same list. What another process has taken over
// meanwhile stays as it is. The message is recorded in any case: people see it.
func (q *queue) settle(c *txn, batch []*Notification, d Delivery, failed error) error {
	n := batch[0]
	held, err := q.held(c, batch)
	if err != nil {
		return err
	}
	lost := make(map[RequestID]bool)
	for _, sent := range held {
		if sent.ID == n.ID {
			sent = n
		}
		other := n.Listing() && sent.Request != n.Request && !lost[sent.Request]
		if failed != nil && (sent == n || other) {
			lost[sent.Request] = true
			if err := c.bury(sent, failed); err != nil {
				return err
			}
			continue
		}
		if err := c.DeleteNotification(sent); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		return nil
	case n.Kind == NotifyState:
		return c.marked(n)
	case d.Listed != "":
		if err := c.listed(n, nil, Delivery{Channel: d.Channel, Message: d.Listed, List: true}.card(n)); err != nil {
			return err
		}
	}
	switch {
	case d.Message == "" || n.Kind != NotifyCard && !d.List:
		return nil
	case d.List:
		return c.listed(n, batch, d.card(n))
	}
	return c.shown(n.Request, d.card(n))
}

// listed records the message that lists what waits for the person with all that it names, and with what the batch is
// about, which it counts at least.
func (c *txn) listed(n *Notification, batch []*Notification, list Card) error {
	told := make(map[RequestID]bool)
	for _, r := range n.Waiting {
		if !slices.Contains(r.Cards, list) {
			told[r.ID] = true
		}
	}
	for _, o := range batch {
		told[o.Request] = true
	}
	ids := slices.Sorted(maps.Keys(told))
	if err := c.readRequests(ids); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.shown(id, list); err != nil {
			return err
		}
	}
	return nil
}

// hopeless reports whether it makes no sense to try again.
func (q *queue) hopeless(n *Notification, err error) bool {
	return errors.Is(err, ErrUndeliverable) || n.Attempts >= deliverTries && n.tried(q.clock.now()) > deliverFor
}

// tried returns for how long it has been tried to deliver n. Where the clock was ahead when n was written, its attempts
// tell, which are about a minute apart.
func (n *Notification) tried(now time.Time) time.Duration {
	if n.Created.After(now) {
		return time.Duration(n.Attempts) * deliverApart
	}
	return now.Sub(n.Created)
}

// notify calls the notifier. A notification that makes it panic would do so again, and hold up its place for ever.
func (q *queue) notify(ctx context.Context, n *Notification) (d Delivery, err error) {
	defer func() {
		if v := recover(); v != nil {
			q.log.ErrorContext(ctx, "notifier panicked", "notification", n.ID, "type", fmt.Sprintf("%T", v),
				"stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %w", ErrUndeliverable, errPanic)
		}
	}()
	ctx, cancel := q.lingering(ctx)
	defer cancel()
	if exclusive(q.store) {
		return q.notifier.Notify(ctx, n)
	}
	ctx, end := context.WithDeadline(ctx, q.until)
	defer end()
	d, err = q.notifier.Notify(ctx, n)
	if later, ok := errors.AsType[*RetryError](err); !ok || !later.Unsent {
		q.before[n.ID] = true
	}
	return d, err
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

// shown records the message that shows the request, unless that was deleted meanwhile. Of the lists of a person the
// last one is recorded: see docs/adr/0057-one-list-is-kept-up-to-date.md.
func (c *txn) shown(id RequestID, card Card) error {
	r, err := c.request(id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || slices.Contains(r.Cards, card) {
		return err
	}
	if card.List {
		r.Cards = slices.DeleteFunc(slices.Clone(r.Cards), func(o Card) bool { return o.List && o.Copy == card.Copy })
	}
	at := slices.IndexFunc(r.Cards, func(o Card) bool { return o.Channel == card.Channel && o.Message == card.Message })
	if at < 0 {
		r.Cards = append(r.Cards, card)
	} else {
		r.Cards[at] = card // which shows less, or more, than before
	}
	c.touched(r)
	if at < 0 && card.Copy == "" { // the first in the thread, or one that has taken the place of a deleted one
		return c.linkedTo(r)
	}
	return nil
}

// linkedTo shows anew the requests whose place r has taken: their cards lead to the one of r, which is there now.
func (c *txn) linkedTo(r *RequestHead) error {
	all, err := c.requestsOf(r.Run)
	if err != nil {
		return err
	}
	for _, o := range all {
		if last := o.lastOf(all); last != nil && last.ID == r.ID && len(o.Cards) > 0 {
			c.showCopy(o, "", c.Now())
		}
	}
	return nil
}
