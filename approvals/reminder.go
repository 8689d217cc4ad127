package approvals

import (
	"slices"
	"time"
)

// remindersSeen bounds how many notifications of a place are looked at for a reminder that was not delivered yet.
const remindersSeen = 200

// remind queues reminders of the request, in its place and for each of its copies, unless an earlier one still waits to
// be delivered, and sets the time of the next: one transaction, so that no reminder is queued twice.
func (c *txn) remind(r *RequestHead) error {
	r.RemindAt = r.nextReminder(c.Now())
	c.touched(r)
	for _, copyOf := range append([]Copy{""}, r.Called.Copies...) {
		if copyOf.of(copyHome) { // nobody is called by it
			continue
		}
		if err := c.remindCopy(r, copyOf); err != nil {
			return err
		}
	}
	return nil
}

// remindCopy is remind for those whom one copy is for.
func (c *txn) remindCopy(r *RequestHead, copyOf Copy) error {
	at := queueOf(r.Place, copyOf)
	waiting, err := c.Notifications(c.ws, at, copyOf, remindersSeen)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(waiting, func(n *Notification) bool {
		return n.Kind == NotifyReminder && n.Request == r.ID
	}) {
		return nil
	}
	c.showCopy(r, copyOf, c.Now()) // somebody may have deleted what they are reminded of
	c.notify(&Notification{Kind: NotifyReminder, Place: at, Copy: copyOf, Run: r.Run, Request: r.ID})
	return nil
}

// nextReminder returns when to remind people after the reminder that is due now. The rhythm is kept: the instants that
// an outage has swallowed are left out, and so is one that would follow within half of the interval.
func (r *RequestHead) nextReminder(now time.Time) time.Time {
	every := r.Requirement.RemindEvery
	next, soon := r.RemindAt.Add(every), now.Add(every/2)
	if missed := soon.Sub(next); missed >= 0 {
		next = next.Add((missed/every + 1) * every)
	}
	return next
}

// remindedTooLate reports whether the next reminder is further away than nextReminder puts it.
func (r *RequestHead) remindedTooLate(now time.Time) bool {
	return r.RemindAt.Sub(now) > 2*r.Requirement.RemindEvery && !r.RemindAt.IsZero()
}
