package approvals

import (
	"time"

	"countersign/internal/fault"
)

// lifetime returns how long a request may wait under q; zero: for ever.
func (q *Requirement) lifetime() time.Duration {
	if q.OnExpiry == ExpiryKeep {
		return 0
	}
	return q.ExpiresIn
}

// schedule sets the times of a request that is being asked, and plans its timer.
func (c *txn) schedule(r *RequestHead) {
	q := &r.Requirement
	if life := q.lifetime(); life > 0 {
		r.Expires = c.Now().Add(life)
	}
	if q.RemindEvery > 0 {
		r.RemindAt = c.Now().Add(q.RemindEvery)
	}
	if r.NextAct = r.nextAct(); !r.NextAct.IsZero() {
		c.plan(timerJob(r))
	}
}

func timerJob(r *RequestHead) Job {
	return Job{Workspace: r.Workspace, Kind: JobTimer, ID: string(r.ID), Due: r.NextAct, Group: r.Place.Channel}
}

// nextAct returns when the next of the request's times comes; zero: it has none.
func (r *RequestHead) nextAct() (next time.Time) {
	for _, at := range []time.Time{r.RemindAt, r.Escalates(), r.Expires} {
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// tick does what is due for a pending request that is not overdue, and plans what comes next. It returns in a word what
// it did, and how long the next is away, or zero when a timer has been planned for it. called is whom an escalation
// calls; nil: that was not asked, and errNotGathered is the answer where one is due.
func (c *txn) tick(r *RequestHead, called *Called) (did string, left time.Duration, err error) {
	c.mend(r)
	escalate, remind := r.Escalates(), r.RemindAt
	switch {
	case !escalate.IsZero() && !c.Now().Before(escalate) && called == nil:
		return "", 0, errNotGathered
	case !escalate.IsZero() && !c.Now().Before(escalate):
		if err := fault.Error("escalate.claimed"); err != nil {
			return "", 0, err
		}
		did = "escalated"
		if err := c.escalate(r, *called); err != nil {
			return "", 0, err
		}
		if !remind.IsZero() && !c.Now().Before(remind) { // which says the same
			r.RemindAt = r.nextReminder(c.Now())
		}
	case !remind.IsZero() && !c.Now().Before(remind):
		did = "reminded"
		if err := c.remind(r); err != nil {
			return "", 0, err
		}
	}
	next := r.nextAct()
	if next.Equal(r.NextAct) {
		return did, next.Sub(c.Now()), nil
	}
	r.NextAct = next
	c.touched(r)
	c.plan(timerJob(r))
	return did, 0, nil
}

// mend sets times anew that are further away than they can be: a clock that was wrong has set them. From now on the
// request has as long as it ever had.
func (c *txn) mend(r *RequestHead) {
	q := &r.Requirement
	if r.asked().After(c.Now()) {
		r.Asked = c.Now()
		c.touched(r)
	}
	if r.Expires.Sub(c.Now()) > q.ExpiresIn && !r.Expires.IsZero() {
		r.Expires = c.Now().Add(q.ExpiresIn)
		c.touched(r)
		c.show(r)
	}
	if r.remindedTooLate(c.Now()) {
		r.RemindAt = c.Now().Add(q.RemindEvery)
		c.touched(r)
	}
}

// amiss reports whether one of the times of a pending request is further away than it can be, or has passed without
// anybody noticing.
func (r *RequestHead) amiss(now time.Time) bool {
	next := r.nextAct()
	switch {
	case next.IsZero():
		return false
	case next.Sub(now) < -overdueFor, r.remindedTooLate(now), r.asked().After(now):
		return true
	}
	return !r.Expires.IsZero() && r.Expires.Sub(now) > r.Requirement.ExpiresIn
}
