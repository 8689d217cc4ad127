package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/agent/trace"
)

// system is the actor of what no person did.
const system = "system"

// noTime is the zero time: never.
var noTime time.Time

// txn is one transaction on a workspace, with what belongs to every change: one reading of the clock (Now, asked for
// behind what is read first, as that takes no longer then), versions that grow, audit entries and jobs beside the
// records that need them. A record is read once and written once: records that were read are kept here, and what
// changed is written when the closure has returned.
type txn struct {
	Tx
	ws     WorkspaceID
	linked bool   // audit entries are linked into the chain at once
	again  bool   // an earlier try of this transaction may have been committed
	trace  string // the span that it belongs to, for those who act on what it writes
	ids    uint16

	runs     map[RunID]*Run
	requests map[RequestID]*RequestHead
	contents map[RequestID]RequestContent // of requests made in this transaction
	lost     map[lostCard]bool            // the dead letters that are cards; nil: not read
	dirty    dirty
}

// dirty is what the end of a transaction writes.
type dirty struct {
	runs     []*Run
	requests []*RequestHead
	entries  []*AuditEntry
	notes    []*Notification
	jobs     []Job
}

// commitTries bounds how often a transaction of unknown outcome is tried.
const commitTries = 5

// update runs fn in a transaction of the workspace. fn may be called again and touches nothing but c and what it
// resets. When the store cannot tell whether it committed, fn is called again with c.again set, and finds out by
// reading. While that does not succeed the error is ErrCommitUnknown, together with what the store said last.
func update(ctx context.Context, st Store, ws WorkspaceID, fn func(c *txn) error) error {
	return updateBy(ctx, st, st.Update, ws, fn)
}

// updateSoon is update for what nobody waits for: it may share a write with what is written a little later.
func updateSoon(ctx context.Context, st Store, ws WorkspaceID, fn func(c *txn) error) error {
	if d, ok := st.(Deferrer); ok {
		return updateBy(ctx, st, d.UpdateSoon, ws, fn)
	}
	return update(ctx, st, ws, fn)
}

// updateBy is update with the method of st that runs transactions.
func updateBy(
	ctx context.Context, st Store, run func(context.Context, func(Tx) error) error, ws WorkspaceID,
	fn func(c *txn) error,
) error {
	linked, link := exclusive(st), trace.Link(ctx)
	again := false
	var last error
	for range commitTries {
		err := run(ctx, func(tx Tx) error {
			c := &txn{Tx: tx, ws: ws, linked: linked, again: again, trace: link}
			if err := fn(c); err != nil {
				return err
			}
			return c.flush()
		})
		unknown := errors.Is(err, ErrCommitUnknown)
		if err == nil || !again && !unknown || !unknown && answered(err) {
			return err
		}
		again, last = true, err
		if errors.Is(err, ErrClosed) || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(last, ErrCommitUnknown) {
		return last
	}
	return fmt.Errorf("%w: %w", ErrCommitUnknown, last)
}

// answered reports whether err is an answer that was read from the records, rather than an error of the store.
func answered(err error) bool {
	for _, answer := range []error{
		ErrNotFound, ErrConflict, ErrUnauthorized, ErrUnavailable, ErrExpired, ErrStale, ErrInvalid, ErrLimit, ErrEnded,
		ErrRetried,
		ErrFenced, agent.ErrStale, agent.ErrOutcomeUnknown, errLeased, errEarly, errPolicy, errMoved, errIllegalMove,
		errInstalled, errTurnTaken,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// exclusive reports whether this process alone works on the store.
func exclusive(st Store) bool {
	e, ok := st.(Exclusive)
	return ok && e.Exclusive()
}

// newID returns an id that sorts by time, and within the transaction by the order of calls.
func (c *txn) newID(prefix string) string {
	c.ids++
	return newID(prefix, c.Now(), c.ids)
}

// run returns the run, the same record at every call.
func (c *txn) run(id RunID) (*Run, error) {
	if r, ok := c.runs[id]; ok {
		return r, nil
	}
	r, err := c.Run(c.ws, id)
	if err != nil {
		return nil, err
	}
	c.keepRun(r)
	return r, nil
}

func (c *txn) keepRun(r *Run) {
	if c.runs == nil {
		c.runs = make(map[RunID]*Run)
	}
	c.runs[r.ID] = r
}

// changed has the run written as its next version when the transaction ends.
func (c *txn) changed(r *Run) {
	c.keepRun(r)
	for _, other := range c.dirty.runs {
		if other == r {
			return
		}
	}
	c.dirty.runs = append(c.dirty.runs, r)
}

// request returns the head of the request, the same record at every call.
func (c *txn) request(id RequestID) (*RequestHead, error) {
	if r, ok := c.requests[id]; ok {
		return r, nil
	}
	r, err := c.RequestHead(c.ws, id)
	if err != nil {
		return nil, err
	}
	return c.keepRequest(r), nil
}

// readRequests reads at once those of the requests that are not known to this transaction, for request.
func (c *txn) readRequests(ids []RequestID) error {
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id RequestID) bool { return c.requests[id] != nil })
	whole, err := c.Requests(c.ws, unknown)
	for _, r := range whole {
		c.keepRequest(&r.RequestHead)
	}
	return err
}

// keepRequest returns the record that stands for the request in this transaction.
func (c *txn) keepRequest(r *RequestHead) *RequestHead {
	if kept, ok := c.requests[r.ID]; ok {
		return kept
	}
	if c.requests == nil {
		c.requests = make(map[RequestID]*RequestHead)
	}
	c.requests[r.ID] = r
	return r
}

// requestsOf lists the run's requests that were there before this transaction, by id.
func (c *txn) requestsOf(run RunID) ([]*RequestHead, error) {
	all, err := c.RequestsOfRun(c.ws, run)
	if err != nil {
		return nil, err
	}
	for i, r := range all {
		all[i] = c.keepRequest(r)
	}
	return all, nil
}

// touched has the request written as its next version when the transaction ends.
func (c *txn) touched(r *RequestHead) {
	c.keepRequest(r)
	for _, other := range c.dirty.requests {
		if other == r {
			return
		}
	}
	c.dirty.requests = append(c.dirty.requests, r)
}

// created has a new request written whole when the transaction ends.
func (c *txn) created(r *Request) {
	if c.contents == nil {
		c.contents = make(map[RequestID]RequestContent)
	}
	c.contents[r.ID] = r.RequestContent
	c.touched(&r.RequestHead)
}

// flush writes what has changed.
func (c *txn) flush() error {
	for _, r := range c.dirty.runs {
		r.Version++
		r.Updated = c.Now()
		if err := c.PutRun(r); err != nil {
			return err
		}
	}
	for _, r := range c.dirty.requests {
		r.Version++
		if err := c.writeRequest(r); err != nil {
			return err
		}
	}
	for _, n := range c.dirty.notes {
		if err := c.PutNotification(n); err != nil {
			return err
		}
	}
	if err := c.appendAudit(); err != nil || len(c.dirty.jobs) == 0 {
		return err
	}
	return c.Enqueue(c.dirty.jobs...)
}

func (c *txn) writeRequest(r *RequestHead) error {
	content, isNew := c.contents[r.ID]
	if !isNew {
		return c.PutRequestHead(r)
	}
	return c.PutRequest(&Request{RequestHead: *r, RequestContent: content})
}

// plan queues a job. A job of the same key that this transaction has queued already is due at the earlier of the times.
func (c *txn) plan(j Job) {
	j.Workspace = c.ws
	for i := range c.dirty.jobs {
		if o := &c.dirty.jobs[i]; o.Kind == j.Kind && o.ID == j.ID {
			if j.Due.Before(o.Due) {
				o.Due = j.Due
			}
			return
		}
	}
	c.dirty.jobs = append(c.dirty.jobs, j)
}

// wake queues the job that executes the run.
func (c *txn) wake(r *Run) { c.plan(runJob(r, c.Now())) }

func runJob(r *Run, due time.Time) Job {
	return Job{Workspace: r.Workspace, Kind: JobRun, ID: string(r.ID), Due: due, Group: r.Place.Channel}
}

// requeue wakes the run because one of its requests has been settled. A run that somebody works on stays with them:
// they find the settled request when they are done.
func (c *txn) requeue(id RunID, why RequestID) error {
	r, err := c.run(id)
	if err != nil || r.Status.Ended() {
		return err
	}
	if r.Status == RunWaiting {
		r.Trace = c.trace
		if err := c.moveRun(r, RunQueued, system, auditData{Request: why}); err != nil {
			return err
		}
	}
	c.wake(r)
	return nil
}

// show queues what brings the request's card up to date.
func (c *txn) show(r *RequestHead) { c.showAt(r, c.Now()) }

// cardPause is how long the card of an approved call waits before it is brought up to date: a call that has its
// outcome by then takes one change of the card instead of two, which surfaces ration.
const cardPause = 250 * time.Millisecond

// showAt is show not before the instant, unless something else is to be shown in the place before.
func (c *txn) showAt(r *RequestHead, due time.Time) {
	c.showCopy(r, "", due)
	for _, copyOf := range r.Called.Copies {
		c.showCopy(r, copyOf, due)
	}
}

// showCopy is showAt for one of the messages that show the request. Each has an entry of the outbox to itself, so that
// one that cannot be delivered holds up no other.
func (c *txn) showCopy(r *RequestHead, copyOf Copy, due time.Time) {
	for _, n := range c.dirty.notes {
		if n.Kind == NotifyCard && n.Request == r.ID && n.Copy == copyOf {
			c.plan(deliverJob(n.Key(), due))
			return
		}
	}
	c.notifyAt(&Notification{
		Kind: NotifyCard, Place: queueOf(r.Place, copyOf), Copy: copyOf, Run: r.Run, Request: r.ID,
	}, due)
}

// say queues a notice for the people of the run's place.
func (c *txn) say(r *Run, text string) {
	c.notify(&Notification{Kind: NotifyNotice, Place: r.Place, Run: r.ID, Text: text})
}

// notify puts n into the outbox and wakes the delivery of its queue.
func (c *txn) notify(n *Notification) { c.notifyAt(n, c.Now()) }

func (c *txn) notifyAt(n *Notification, due time.Time) {
	n.Workspace, n.Created, n.Trace = c.ws, c.Now(), c.trace
	n.ID = NotificationID(c.newID("ntf_"))
	if r, ok := c.runs[n.Run]; ok {
		n.Streams = r.Streams
	}
	c.dirty.notes = append(c.dirty.notes, n)
	c.plan(deliverJob(n.Key(), due))
}

func deliverJob(k CopyKey, due time.Time) Job {
	return Job{
		Workspace: k.Workspace, Kind: JobDeliver, ID: k.JobID(), Due: due, Place: &k.Place, Copy: k.Copy,
		Group: k.Place.Channel,
	}
}

// sameDigest is the comparison that binds what was shown to what runs.
func sameDigest(a, b agent.Digest) bool { return a == b }
