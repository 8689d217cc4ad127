package approvals

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How often a worker looks after what jobs alone may miss.
const (
	sealEvery  = time.Second     // link new audit entries, where several processes append them
	sealIdle   = 3 * time.Second // the same after there were none: a replica that has nothing to do asks little
	sweepEvery = 5 * time.Second // find runs and notifications that wait without a job
	// sweepAlone is sweepEvery where this process alone works on the store: its jobs are as durable as its records.
	sweepAlone = time.Minute
	sweepLimit = 10_000
	// deadlinesEvery is how often all pending requests are looked at for deadlines that are wrong, or passed without a
	// job.
	deadlinesEvery = time.Minute
	// overdueFor is how long ago a deadline must have passed to count as missed.
	overdueFor = 15 * time.Second
	// undeliveredFor is how long a notification waits before it counts as forgotten.
	undeliveredFor = 15 * time.Second
	// aheadFor is by how much a time that was recorded as the present one must be ahead for the clock to have been set
	// back since: processes that share a store hardly agree to the second.
	aheadFor = 15 * time.Second
	// sweptDue is how far ahead work is planned that seems to have no job. It is at least the longest back-off of
	// stores: a job that is there and has failed keeps its time.
	sweptDue = time.Minute
)

// watch looks after the store until ctx ends. Nobody waits for it.
func (w *Worker) watch(ctx context.Context) {
	ctx = WithoutHurry(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { w.retain(ctx) })
	others.Go(func() { w.keepSealing(ctx) })
	every := sweepEvery
	if exclusive(w.store) {
		every = sweepAlone
	}
	sweep, deadlines := time.NewTicker(every), time.NewTicker(deadlinesEvery)
	defer sweep.Stop()
	defer deadlines.Stop()
	w.report(ctx, "check the deadlines of requests", w.checkDeadlines(ctx))
	w.report(ctx, "end grants of a clock that was ahead", w.endGrantsAhead(ctx))
	for {
		select {
		case <-ctx.Done():
			return
		case <-deadlines.C:
			w.report(ctx, "check the deadlines of requests", w.checkDeadlines(ctx))
		case <-sweep.C:
			w.report(ctx, "look for work without a job", w.sweep(ctx))
		}
	}
}

// report logs what went wrong, unless the worker is stopping.
func (w *Worker) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		w.log.WarnContext(ctx, "could not "+what, "error", err)
	}
}

// sweep plans again what should have a job and may have lost it, or have one that waits for a time that the clock, set
// back since, has not reached: runs that nobody works on, and notifications that nobody delivers. A job
// that is there already stays one job, at the time that it has, or an earlier one.
func (w *Worker) sweep(ctx context.Context) error {
	var runs []RunKey
	var queues []CopyKey
	err := w.store.View(ctx, func(tx Tx) (err error) {
		now := tx.Now()
		if runs, err = tx.LapsedLeases(now, now.Add(w.lease+aheadFor), sweepLimit); err != nil {
			return err
		}
		queues, err = tx.UndeliveredPlaces(now.Add(-undeliveredFor), now.Add(aheadFor), sweepLimit)
		return err
	})
	if err != nil || len(runs)+len(queues) == 0 {
		return err
	}
	return w.store.Update(ctx, func(tx Tx) error {
		jobs, due := make([]Job, 0, len(runs)+len(queues)), tx.Now().Add(sweptDue)
		for _, k := range runs {
			jobs = append(jobs, runJob(&Run{Workspace: k.Workspace, ID: k.Run, Place: k.Place}, due))
		}
		for _, k := range queues {
			jobs = append(jobs, deliverJob(k, due))
		}
		return tx.Enqueue(jobs...)
	})
}

// checkDeadlines looks for requests of which a time is further away than it can be, because the clock that set it was
// ahead, and for those of which one has passed without anybody noticing.
func (w *Worker) checkDeadlines(ctx context.Context) error {
	all, err := auditWorkspaces(ctx, w.store)
	for _, ws := range all {
		err = errors.Join(err, w.checkDeadlinesOf(ctx, ws))
	}
	return err
}

func (w *Worker) checkDeadlinesOf(ctx context.Context, ws WorkspaceID) error {
	query := RequestQuery{Workspace: ws, Status: RequestPending, Limit: maxPage}
	for {
		var amiss []RequestID
		var unsent []Job
		var next RequestID
		err := w.store.View(ctx, func(tx Tx) error {
			amiss, unsent = nil, nil
			heads, more, err := tx.QueryRequests(query)
			for _, r := range heads {
				if r.amiss(tx.Now()) {
					amiss = append(amiss, r.ID)
				}
				if r.Trigger != nil && !r.Trigger.Status.over() && tx.Now().Sub(r.Trigger.At).Abs() > undeliveredFor {
					unsent = append(unsent, triggerJob(r, tx.Now().Add(sweptDue)))
				}
			}
			next = more
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range amiss {
			traced, end := traceTimer(ctx, w.tracer, w.store, ws, id)
			did, _, err := act(traced, w.store, ws, id, w.escalationCall)
			if end(did, err); err != nil {
				return err
			}
		}
		if len(unsent) > 0 { // a job that is there already keeps its time
			if err := w.store.Update(ctx, func(tx Tx) error { return tx.Enqueue(unsent...) }); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		query.After = next
	}
}

// cleanup finishes what the end of a run left for later: the rest of a long saved state, and calls that were still
// running then and of which nobody has heard since.
func (w *Worker) cleanup(ctx context.Context, job Job) error {
	more := true
	for more && ctx.Err() == nil {
		err := update(ctx, w.store, job.Workspace, func(c *txn) (err error) {
			r, err := c.run(RunID(job.ID))
			if err != nil || !r.Status.Ended() || r.StateItems > 0 {
				more = false
				return err
			}
			more, err = c.DeleteState(c.ws, r.ID, statePieces)
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return update(ctx, w.store, job.Workspace, func(c *txn) error { return c.giveUpCalls(RunID(job.ID)) })
}

// giveUpCalls records that nobody knows what came of the calls of an ended run that have had their time to say so, and
// tells the place. Should one finish after all, that is told then.
func (c *txn) giveUpCalls(id RunID) error {
	r, err := c.run(id)
	if err != nil || !r.Status.Ended() {
		return err
	}
	early := r.Ended.Add(cleanupGrace).Sub(c.Now())
	if early > 0 && early <= cleanupGrace { // else the clock was ahead when the run ended
		return c.giveUpLater(r)
	}
	return c.giveUpOpen(r, wordsNothingHeard,
		func(*EffectRecord) bool { return true })
}

// giveUpLater plans the job again for when the calls have had their time, if any is open.
func (c *txn) giveUpLater(r *Run) error {
	effects, err := c.EffectsOfRun(c.ws, r.ID)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if e.Done.IsZero() {
			c.plan(cleanupJob(r, r.Ended.Add(cleanupGrace)))
			return nil
		}
	}
	return nil
}
