package boltstore

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// claimedJob is a job that is being handled.
type claimedJob struct {
	key string
	approvals.Job
	done bool // it was handled well
	// missed is how many of its newest failures the file does not know.
	missed int
}

// claim is one look of the scheduler at the file, in one snapshot: it finds the jobs for the free slots.
type claim struct {
	d     *scheduler
	t     *tx
	acked map[string]uint64
	jobs  []claimedJob // to be handled now
	next  time.Time    // when the next job will be due; zero: never
}

func (c *claim) run() (err error) {
	defer c.t.end(c.t.begin(), &err)
	reached := max(c.d.horizon, instant(c.t.now))
	for kind, ok := c.kind(nil); ok; kind, ok = c.kind(behind(key(kind))) {
		if err := c.collect(approvals.JobKind(kind), reached); err != nil {
			return err
		}
	}
	c.d.horizon = reached
	for j, ok := c.d.soon.next(reached); ok; j, ok = c.d.soon.next(reached) {
		c.d.add(j.kind, j.group, j.key)
	}
	if len(c.d.soon) > 0 {
		c.later(c.d.soon[0].due)
	}
	for kind, queue := range c.d.queues {
		if err := c.serve(kind, queue); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the first kind of job, at or behind the key, of which some are planned for later.
func (c *claim) kind(from []byte) (string, bool) {
	k, _ := c.t.btx.Bucket(bucketScheduledDue).Cursor().Seek(from)
	kind, _, ok := cutPart(k)
	return kind, ok
}

// collect puts the jobs of one kind into its queue that have become due since the last time, up to reached.
func (c *claim) collect(kind approvals.JobKind, reached uint64) error {
	prefix := key(string(kind))
	from := appendNumber(key(string(kind)), c.d.horizon)
	return c.t.scan(bucketScheduledDue, prefix, from, func(k, _ []byte) (bool, error) {
		at, rest := k[len(prefix):len(prefix)+8], k[len(prefix)+8:]
		if due := timeOf(at); instant(due) > reached {
			c.later(due)
			return false, nil
		}
		ws, rest, _ := cutPart(rest)
		job := jobKey(approvals.WorkspaceID(ws), kind, lastPart(rest))
		rec := new(jobRecord)
		err := c.t.get(bucketScheduled, job, rec)
		if errors.Is(err, approvals.ErrNotFound) {
			err = c.t.damaged(fmt.Errorf("%s %q is in an index but missing", bucketScheduled, job))
		}
		c.d.add(kind, rec.Group, string(job))
		return true, err
	})
}

// serve claims jobs of one kind for the free slots of their groups.
func (c *claim) serve(kind approvals.JobKind, q *readyQueue) error {
	for group, key := q.next(); group != nil; group, key = q.next() {
		if in, ok := c.d.queued[key]; !ok || in != group.name { // it was enqueued for another group meanwhile
			q.skipped(group)
			continue
		}
		delete(c.d.queued, key)
		rec, err := c.read(key)
		switch {
		case err != nil:
			return err
		case rec == nil:
			q.skipped(group)
		case rec.Group != group.name: // the same, and the announcement is still to come
			c.d.add(kind, rec.Group, key)
			q.skipped(group)
		default:
			c.start(key, rec)
			q.started(group)
		}
	}
	return nil
}

// read returns the job that the file has under the key, as it will be when its acknowledgement is written. It returns
// nil when there is nothing to do now: the job is being handled or is done, or it is due later. It is found then, in
// the file or among those that are due soon; one that is acknowledged and due later is announced by the commit that
// writes the acknowledgement.
func (c *claim) read(key string) (*storedJob, error) {
	if _, busy := c.d.busy[key]; busy {
		c.d.busy[key] = true
		return nil, nil
	}
	rec, err := c.t.job([]byte(key))
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case !rec.dueAt(c.d.horizon):
		return nil, nil
	}
	if gen, acked := c.acked[key]; acked && (!rec.ack(gen) || instant(rec.Due) > c.d.horizon) {
		return nil, nil
	}
	return rec, nil
}

func (c *claim) start(key string, rec *storedJob) {
	c.d.busy[key] = false
	j := claimedJob{key: key, Job: rec.Job, missed: c.d.missed[key]}
	j.Attempts += j.missed
	c.jobs = append(c.jobs, j)
}

// later notes that a job will be due then.
func (c *claim) later(due time.Time) {
	if c.next.IsZero() || due.Before(c.next) {
		c.next = due
	}
}
