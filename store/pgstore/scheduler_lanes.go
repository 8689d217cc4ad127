package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"
)

// patience is how long one conversation with the database may take before it is given up and tried again.
const patience = 10 * time.Second

// talk holds a conversation with the database beside the scheduler. fn returns what is to be done about its result
// on the scheduler's goroutine.
func (d *scheduler) talk(ctx context.Context, l *lane, what string, fn func(context.Context) (func(time.Time), error)) {
	l.busy = true
	d.pool.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		apply, err := fn(ctx)
		ended := ctx.Err() == context.Canceled // by whoever wants no answer any more
		d.results <- func(now time.Time) {
			l.busy = false
			apply(now)
			if err == nil {
				l.failed, l.not = 0, time.Time{}
				return
			}
			l.not = now.Add(min(backOff(l.failed), sweepEvery))
			l.failed++
			if !ended {
				d.log.Warn("database not reached for jobs", "for", what, "times", l.failed, "error", err)
			}
		}
	})
}

// start holds the conversations for which there is reason.
func (d *scheduler) start(ctx context.Context, now time.Time) {
	if d.wake && !now.Before(d.woken.Add(wakePause)) {
		d.wake, d.woken = false, now
		d.store.jobs.tell(ctx)
	}
	if d.claim.free(now) {
		d.startClaim(ctx)
	}
	if d.find.free(now) {
		d.startFind(ctx)
	}
	if d.all && d.whole.free(now) {
		d.startSweep(ctx)
	}
	d.startWrite(ctx, now, false)
	d.startRenew(ctx, now)
}

// startClaim claims what there are free slots for.
func (d *scheduler) startClaim(ctx context.Context) {
	keys, slots := d.ready()
	if len(keys) == 0 {
		return
	}
	for _, k := range keys {
		d.asked[k] = true
	}
	first := d.number + 1
	d.number += int64(len(keys))
	begun := time.Now()
	// A claim is never broken off: the server may carry it out all the same, and the job would be nobody's until the
	// claim lapses.
	d.talk(context.WithoutCancel(ctx), &d.claim, "claims", func(talk context.Context) (func(time.Time), error) {
		claimed, err := d.claims.claim(talk, keys, first)
		return func(now time.Time) { d.claimed(ctx, now, begun, claimed, keys, slots, first) }, err
	})
}

// startFind looks at jobs that somebody has told of. It has a lane of its own: that jobs can be read does not end the
// pause after a claim that failed.
func (d *scheduler) startFind(ctx context.Context) {
	look, looked := slices.Collect(maps.Keys(d.look)), d.looked
	if len(look) > atOnce {
		look, looked = look[:atOnce], nil
	} else {
		d.looked = nil
	}
	if len(look) == 0 {
		closeAll(looked)
		return
	}
	for _, k := range look {
		delete(d.look, k)
	}
	d.talk(ctx, &d.find, "jobs told of", func(talk context.Context) (func(time.Time), error) {
		found, err := d.claims.find(talk, look)
		return func(now time.Time) {
			for _, f := range found {
				d.found(now, f)
			}
			if err != nil {
				for _, k := range look {
					d.look[k] = true
				}
			}
			closeAll(looked)
		}, err
	})
}

func closeAll(told []chan struct{}) {
	for _, done := range told {
		close(done)
	}
}

// startSweep looks for jobs that are due in the whole table. It has a lane of its own: where many wait it takes its
// time, and no slot stays free for that.
func (d *scheduler) startSweep(ctx context.Context) {
	swept := d.swept
	d.all, d.swept = false, nil
	d.talk(ctx, &d.whole, "due jobs", func(talk context.Context) (func(time.Time), error) {
		found, err := d.claims.due(talk, lookAhead)
		d.store.counts.sweeps.Add(1)
		return func(now time.Time) {
			for _, f := range found {
				d.found(now, f)
			}
			d.all = d.all || err != nil
			closeAll(swept)
		}, err
	})
}

// claimed starts the handlers of the jobs that were claimed. The others are looked at again a little later: somebody
// may have held them for a moment and left them.
func (d *scheduler) claimed(
	ctx context.Context, now, begun time.Time, jobs []claimedJob, keys []jobKey, slots []string, first int64,
) {
	got := make(map[int64]bool, len(jobs))
	for _, j := range jobs {
		got[j.number] = true
		j.slot = slots[j.number-first]
		d.work(ctx, j, begun)
	}
	for i, k := range keys {
		delete(d.asked, k)
		if !got[first+int64(i)] {
			d.release(k.kind, slots[i])
			d.soon.add(soonJob{at: now.Add(missedPause), key: k})
		}
	}
}

// missedPause is how long after a claim that failed the job is looked at again.
const missedPause = 50 * time.Millisecond

// startWrite writes down how handlers ended.
func (d *scheduler) startWrite(ctx context.Context, now time.Time, draining bool) {
	if len(d.ended) == 0 || !d.write.free(now) {
		return
	}
	n := min(len(d.ended), atOnce)
	jobs := d.ended[:n:n]
	d.ended = d.ended[n:]
	remind := draining && !d.set.noRiver
	ctx = context.WithoutCancel(ctx)
	d.talk(ctx, &d.write, "acknowledgements", func(ctx context.Context) (func(time.Time), error) {
		stay, err := d.claims.end(ctx, jobs, remind)
		return func(now time.Time) {
			if err != nil {
				d.ended = append(jobs, d.ended...)
				return
			}
			for _, f := range stay {
				d.found(now, f)
			}
			d.wake = d.wake || draining
		}, err
	})
}

// startRenew prolongs the claims of the handlers at work.
func (d *scheduler) startRenew(ctx context.Context, now time.Time) {
	if len(d.busy) == 0 || now.Before(d.renew) || !d.prolong.free(now) {
		return
	}
	d.renew = now.Add(d.set.claimLease() / 3)
	var jobs []claimedJob
	for _, h := range d.busy {
		if !h.lost {
			jobs = append(jobs, h.claimedJob)
		}
	}
	until := now.Add(d.set.claimLease())
	d.talk(context.WithoutCancel(ctx), &d.prolong, "leases", func(ctx context.Context) (func(time.Time), error) {
		ctx, cancel := context.WithTimeout(ctx, d.set.claimLease()/3) // before they lapse it is tried once more
		defer cancel()
		ours, err := d.claims.renew(ctx, jobs)
		return func(time.Time) {
			if err != nil {
				return
			}
			kept := make(map[int64]bool, len(ours))
			for _, number := range ours {
				kept[number] = true
			}
			for _, j := range jobs {
				switch h := d.busy[j.number]; {
				case h == nil || h.lost:
				case kept[j.number]:
					h.until = until
				default:
					d.lose(h)
				}
			}
		}, err
	})
}

// drainPatience is how long a Dispatch that ends tries to write down what its handlers did. Their claims lapse soon
// after.
const drainPatience = 5 * time.Second

// drain waits for the handlers and gives back what they did not finish. Nothing is started any more.
func (d *scheduler) drain(ctx context.Context) {
	var deadline time.Time // set when the last handler has ended
	for {
		now := time.Now()
		if len(d.busy) == 0 && deadline.IsZero() {
			deadline = now.Add(drainPatience)
		}
		idle := !d.claim.busy && !d.find.busy && !d.whole.busy && !d.write.busy && !d.prolong.busy
		if idle && len(d.busy) == 0 && (len(d.ended) == 0 || now.After(deadline)) {
			break
		}
		d.lapse(now)
		d.startWrite(ctx, now, true)
		d.startRenew(ctx, now)
		d.wait(context.WithoutCancel(ctx), d.nextOfDrain(now, deadline))
	}
	d.leave(ctx)
}

// nextOfDrain is next while nothing is started any more. What is due then waits for others.
func (d *scheduler) nextOfDrain(now, deadline time.Time) time.Time {
	var at earliest
	if deadline.After(now) {
		at.or(deadline)
	}
	at.or(d.nextOfHandlers())
	return at.after(now)
}

// leave reminds others of what was found here and not begun. What River has told of last it will tell somebody else.
func (d *scheduler) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if n := len(d.queued) + len(d.soon) + len(d.look); n > 0 && !d.set.noRiver {
		if err := d.claims.remindAll(ctx); err != nil {
			d.log.Warn("others not reminded of jobs; a sweep finds them", "jobs", n, "error", err)
		}
		d.wake = true
	}
	if d.wake {
		d.store.jobs.tell(ctx)
	}
}
