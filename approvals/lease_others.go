package approvals

import (
	"sync"
	"time"
)

// othersLeases are the leases of other processes that this one has come upon, and since when each has not been renewed,
// by this process's own monotonic time. Whoever holds a lease renews it, or has given it up, before its length has
// passed by their own monotonic time. So one that was seen not to be renewed for that long is over, whatever the
// store's clock says: it may have been set back since the lease was taken.
type othersLeases struct {
	mu   sync.Mutex
	seen map[string]lease // by what it is for
	last time.Time        // when those that nobody asks about any more were forgotten
}

// lease is one as it was recorded, and since when that is known.
type lease struct {
	owner        string
	until        time.Time
	since, asked time.Time // monotonic
}

// forgetAfter is when a lease that nobody has asked about is forgotten. Should it turn up again, it counts as new.
const forgetAfter = 10 * time.Minute

// left returns for how long a lease of the length may still be in force, which is recorded as the owner's until an
// instant of the store's clock, which says now. Zero: it is over. What the lease is for, and what it was read from, is
// the caller's to know: a transaction that takes it over must fail if it was renewed meanwhile.
func (l *othersLeases) left(what, owner string, until, now time.Time, length time.Duration) time.Duration {
	recorded := until.Sub(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if recorded <= 0 {
		delete(l.seen, what)
		return 0
	}
	here := time.Now()
	l.forget(here)
	known, ok := l.seen[what]
	if !ok || known.owner != owner || !known.until.Equal(until) {
		known = lease{owner: owner, until: until, since: here}
	}
	known.asked = here
	if l.seen == nil {
		l.seen = make(map[string]lease)
	}
	l.seen[what] = known
	return max(0, min(recorded, length-here.Sub(known.since)))
}

// forget forgets what nobody asks about any more. l.mu is held.
func (l *othersLeases) forget(now time.Time) {
	if now.Sub(l.last) < forgetAfter {
		return
	}
	l.last = now
	for what, known := range l.seen {
		if now.Sub(known.asked) >= forgetAfter {
			delete(l.seen, what)
		}
	}
}
