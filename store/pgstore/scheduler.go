package pgstore

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"time"

	"countersign/approvals"
	"countersign/internal/gopool"
)

const (
	// claimLease is how long a claim holds without being renewed, and renewEvery how often it is.
	claimLease = 15 * time.Second
	renewEvery = 5 * time.Second
	// sweepEvery is how often a replica looks for what nobody was reminded of. With the lease it bounds how long a job
	// of a replica that died waits: 20 seconds.
	sweepEvery = 5 * time.Second
	// lookAhead is how far a sweep looks into the future. Of jobs that are due later nobody needs to be reminded: a
	// sweep finds them before their time.
	lookAhead = 2 * sweepEvery
	// atOnce bounds what one statement claims, reads or acknowledges.
	atOnce = 500
	// wakePause is how long after others were told that there is work they are not told again.
	wakePause = 100 * time.Millisecond
	// mostIdle is how many goroutines wait for the next job, or conversation with the database.
	mostIdle = 32
)

// jobSettings differ from their zero value in tests alone. What finds jobs is also set by the build tags riveralone and
// sweepalone, with which whole suites show that neither is needed for the other.
type jobSettings struct {
	sweep      time.Duration // in place of sweepEvery; negative: never
	lease      time.Duration // in place of claimLease; it is renewed three times as often
	noRiver    bool          // no reminders
	noLocal    bool          // a replica is not told of what it commits itself
	unfenced   bool          // acknowledgements do not look whose the claim is
	pollAlways bool          // as where notifications do not arrive
}

func (c jobSettings) sweepEvery() time.Duration {
	if c.sweep != 0 {
		return c.sweep
	}
	return sweepEvery
}

func (c jobSettings) claimLease() time.Duration {
	if c.lease != 0 {
		return c.lease
	}
	return claimLease
}

// scheduler is the state of one Dispatch. Only its goroutine touches it.
//
// A job goes from being found (told of by a commit of this process, by River, by a sweep or by a timer) into the queue
// of its group, from there, when a slot is free, into a claim, to a handler, and into an acknowledgement. What is
// found is a hint. The claim decides, and the table about the claim.
type scheduler struct {
	claims claims
	handle func(context.Context, approvals.Job) error
	set    jobSettings
	slots  int
	log    *slog.Logger
	store  *Store

	told      *announcements
	reminders chan reminded        // from River
	pool      *gopool.Pool         // of handlers and lanes
	handled   chan endedJob        // from handlers
	results   chan func(time.Time) // from lanes

	queues map[approvals.JobKind]*readyQueue
	queued map[jobKey]bool // what is in the queues
	asked  map[jobKey]bool // what the claims under way are for
	soon   soonQueue
	look   map[jobKey]bool      // to be read
	looked []chan struct{}      // closed when that has been done
	all    bool                 // the whole table is to be looked at
	swept  []chan struct{}      // closed when that has been done
	others map[jobKey]time.Time // what is left to a newer version of the program, until when
	sweep  time.Time            // when that will be so the next time; zero: never
	renew  time.Time            // when to renew
	wake   bool                 // others have to be told that there is work
	woken  time.Time            // when they were last

	number int64 // of the last claim
	busy   map[int64]*handling
	lapses time.Time  // no claim of these lapses before; zero: none does
	ended  []endedJob // to be written down

	claim, find, whole, write, prolong lane
}

// handling is a handler at work.
type handling struct {
	claimedJob
	cancel context.CancelCauseFunc
	until  time.Time // when the claim lapses, by the local clock
	lost   bool
}

// lane is a place for one conversation with the database at a time.
type lane struct {
	busy   bool
	failed int       // times in a row
	not    time.Time // before which it is not to try again
}

func (l *lane) free(now time.Time) bool { return !l.busy && !now.Before(l.not) }

func newScheduler(s *Store, db querier, handle func(context.Context, approvals.Job) error) *scheduler {
	set := s.jobs.set
	owner := make([]byte, 16)
	crand.Read(owner)
	d := &scheduler{
		claims:    claims{db: db, owner: owner, lease: set.claimLease(), unfenced: set.unfenced},
		handle:    handle,
		set:       set,
		slots:     s.jobs.workers,
		log:       s.jobs.log,
		store:     s,
		told:      newAnnouncements(),
		reminders: make(chan reminded),
		handled:   make(chan endedJob),
		pool:      gopool.New(mostIdle),
		results:   make(chan func(time.Time)),
		queues:    make(map[approvals.JobKind]*readyQueue),
		queued:    make(map[jobKey]bool),
		asked:     make(map[jobKey]bool),
		look:      make(map[jobKey]bool),
		others:    make(map[jobKey]time.Time),
		busy:      make(map[int64]*handling),
	}
	if set.sweepEvery() > 0 {
		d.all, d.sweep = true, time.Now().Add(jitter(set.sweepEvery()))
	}
	return d
}

// run hands out jobs until ctx ends, and then waits for the handlers and gives back what they did not finish.
func (d *scheduler) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		d.take(now)
		d.lapse(now)
		d.start(ctx, now)
		d.wait(ctx, d.next(now))
	}
	d.drain(ctx)
	d.pool.Close()
}

// take notes what this process has committed, and what has become due by the clock.
func (d *scheduler) take(now time.Time) {
	for _, f := range d.told.take() {
		if d.found(now, f) {
			d.wake = true
		}
	}
	for k, ok := d.soon.next(now); ok; k, ok = d.soon.next(now) {
		d.look[k] = true
	}
	if !d.sweep.IsZero() && !now.Before(d.sweep) {
		d.all, d.sweep = true, now.Add(jitter(d.set.sweepEvery()))
	}
}

// found puts a job into the queue of its group, or keeps it until it is due. It reports whether it has to wait for a
// slot here.
func (d *scheduler) found(now time.Time, f foundJob) (waits bool) {
	if f.in > 0 {
		d.soon.add(soonJob{at: now.Add(f.in + time.Millisecond), key: f.key})
		return false
	}
	if d.queued[f.key] || d.asked[f.key] || d.leftToOthers(now, f.key) {
		return false // what a claim does not get is looked at again
	}
	q := d.queues[f.key.kind]
	if q == nil {
		q = newReadyQueue(d.slots, cmp.Or(f.key.kind.AtOnce(), maxHandlers))
		d.queues[f.key.kind] = q
	}
	waits = q.full(f.group)
	if q.add(f.group, f.key) {
		d.queued[f.key] = true
	}
	return waits
}

// ready takes from the queues what there are free slots for.
func (d *scheduler) ready() (keys []jobKey, slots []string) {
	for _, q := range d.queues {
		for len(keys) < atOnce {
			g, k := q.next()
			if g == nil {
				break
			}
			delete(d.queued, k)
			q.started(g)
			keys, slots = append(keys, k), append(slots, g.name)
		}
	}
	return keys, slots
}

// release frees the slot of a group. When the group's keys run out and the table may have more, it is asked.
func (d *scheduler) release(kind approvals.JobKind, slot string) {
	if d.queues[kind].ended(slot) {
		d.all = true
	}
}

// next is when there will be something to do if nothing happens.
func (d *scheduler) next(now time.Time) time.Time {
	var at earliest
	if len(d.soon) > 0 {
		at.or(d.soon[0].at)
	}
	if !d.claim.busy && d.claim.not.After(now) {
		at.or(d.claim.not)
	}
	if !d.find.busy && len(d.look) > 0 {
		at.or(later(now, d.find.not))
	}
	if !d.whole.busy {
		at.or(later(d.sweep, d.whole.not))
		if d.all {
			at.or(later(now, d.whole.not))
		}
	}
	if d.wake {
		at.or(d.woken.Add(wakePause))
	}
	at.or(d.nextOfHandlers())
	return at.after(now)
}

// nextOfHandlers is when there will be something to do about the handlers at work, and those that have ended.
func (d *scheduler) nextOfHandlers() time.Time {
	var at earliest
	if !d.write.busy && len(d.ended) > 0 {
		at.or(d.write.not)
	}
	if len(d.busy) > 0 {
		if !d.prolong.busy {
			at.or(later(d.renew, d.prolong.not))
		}
		at.or(d.lapses)
	}
	return time.Time(at)
}

// earliest is the earliest of several times; zero: there is none.
type earliest time.Time

func (e *earliest) or(t time.Time) {
	if !t.IsZero() && (time.Time(*e).IsZero() || t.Before(time.Time(*e))) {
		*e = earliest(t)
	}
}

// after is that time, or a minute from now where that is sooner or there is none.
func (e earliest) after(now time.Time) time.Time {
	e.or(now.Add(time.Minute))
	return time.Time(e)
}

func later(a, b time.Time) time.Time {
	if a.IsZero() || a.After(b) {
		return a
	}
	return b
}

// wait returns when something has happened, or at the given time.
func (d *scheduler) wait(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-d.told.came:
	case r := <-d.reminders:
		d.remind(r)
	case e := <-d.handled:
		d.end(e)
	case apply := <-d.results:
		apply(time.Now())
	}
	d.takeRest()
}

// takeRest takes what else has happened by now, so that one conversation with the database serves it all.
func (d *scheduler) takeRest() {
	for {
		select {
		case r := <-d.reminders:
			d.remind(r)
		case e := <-d.handled:
			d.end(e)
		case apply := <-d.results:
			apply(time.Now())
		default:
			return
		}
	}
}

// remind has what River tells of looked at.
func (d *scheduler) remind(r reminded) {
	if r.all {
		d.all, d.swept = true, append(d.swept, r.done)
		return
	}
	for _, k := range r.keys {
		if !d.queued[k] {
			d.look[k] = true
		}
	}
	d.looked = append(d.looked, r.done)
}

// lapse ends the handlers whose claims could not be renewed in time: another replica may have begun with their jobs.
// There may be thousands, and this is asked at whatever happens.
func (d *scheduler) lapse(now time.Time) {
	if d.lapses.IsZero() || now.Before(d.lapses) {
		return
	}
	d.lapses = time.Time{}
	for _, h := range d.busy {
		switch {
		case h.lost:
		case !now.Before(h.until):
			d.lose(h)
		default:
			d.lapsesAt(h.until)
		}
	}
}

// lapsesAt notes that a claim lapses then unless it is renewed.
func (d *scheduler) lapsesAt(t time.Time) {
	if d.lapses.IsZero() || t.Before(d.lapses) {
		d.lapses = t
	}
}

func (d *scheduler) lose(h *handling) {
	h.lost = true
	d.store.counts.claimsLost.Add(1)
	h.cancel(errClaimLost)
	d.log.Warn("claim of a job lost: its handler is told to end", "kind", h.Kind, "id", h.ID)
}

// end notes that a handler has ended.
func (d *scheduler) end(e endedJob) {
	h := d.busy[e.number]
	h.cancel(nil)
	delete(d.busy, e.number)
	d.release(e.key.kind, e.slot)
	if h.lost && e.outcome != succeeded {
		return // somebody else has the job, or will find it
	}
	if e.newer {
		d.leaveToOthers(time.Now(), e.key)
	}
	d.ended = append(d.ended, e)
}

// jitter shortens a pause by up to a fifth, so that replicas that began together do not go on together.
func jitter(p time.Duration) time.Duration {
	if p <= 0 {
		return p
	}
	return p - rand.N(p/5+1)
}
