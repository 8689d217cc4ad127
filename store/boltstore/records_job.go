package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// soon is the time within which the scheduler keeps jobs in memory that are not due yet. They take no more writing than
// jobs that are due.
const soon = time.Second

// A job that is due, or will be soon, when it is written lies in the bucket queue, any other in the bucket scheduled,
// with an entry in an index by time. Both know it by the same key. The scheduler is told of it after the commit.
func jobKey(ws approvals.WorkspaceID, kind approvals.JobKind, id string) []byte {
	return key(string(ws), id, partJob, string(kind))
}

// In the bucket queue, what has the same id lies together because it is written together, and is told apart by the
// third part of its keys.
const (
	partJob          = "j" // of any id
	partNotification = "n" // of approvals.CopyKey.JobID: beside the job that delivers it
	partRun          = "r" // marks a run that is queued or running: beside the job that executes it
)

// eachQueued calls fn for the ids that have entries in the bucket queue, in order, until it returns false or an error.
func (t *tx) eachQueued(fn func(ws, id string) (bool, error)) error {
	for k := t.seek(bucketQueue, nil); k != nil; {
		ws, rest, _ := cutPart(k)
		id, _, ok := cutPart(rest)
		if !ok {
			return t.damaged(fmt.Errorf("%s %q: unreadable key", bucketQueue, k))
		}
		if more, err := fn(ws, id); err != nil || !more {
			return err
		}
		if err := t.cancelled(); err != nil {
			return err
		}
		k = t.seek(bucketQueue, behind(key(ws, id)))
	}
	return nil
}

// dueKey orders the jobs of a kind by time. It is the one key that does not start with the workspace: the scheduler
// serves all of them.
func dueKey(j *approvals.Job) []byte {
	k := appendNumber(key(string(j.Kind)), instant(j.Due))
	return appendPart(appendPart(k, string(j.Workspace)), j.ID)
}

// storedJob is a job as the file holds it.
type storedJob struct {
	jobRecord
	bucket, raw []byte // where, and what
	due         []byte // its entry in the index by time; nil in the bucket queue
}

func (t *tx) Enqueue(jobs ...approvals.Job) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := identified("job", string(j.Workspace), string(j.Kind), j.ID); err != nil {
			return err
		}
		if err := t.enqueue(j); err != nil {
			return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
		}
	}
	return nil
}

func (t *tx) enqueue(j approvals.Job) error {
	// The generation counts everything that is ever enqueued, so that it grows for every key, also when the job was
	// gone.
	gen, err := t.bucket(bucketQueue).NextSequence()
	if err != nil {
		return err
	}
	k := jobKey(j.Workspace, j.Kind, j.ID)
	rec, err := t.job(k)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		rec = &storedJob{jobRecord: jobRecord{Job: j, First: gen}}
		rec.Attempts = 0
	case err != nil:
		return err
	default:
		rec.update(j)
	}
	rec.add(gen, j.Due, t.now)
	return t.putJob(k, rec)
}

func (t *tx) DeleteJob(ws approvals.WorkspaceID, kind approvals.JobKind, id string) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	k := jobKey(ws, kind, id)
	rec, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err == nil {
		rec.DueTimes = nil
		err = t.putJob(k, rec)
	}
	if err != nil {
		return fmt.Errorf("delete job %s %s: %w", kind, id, err)
	}
	return nil
}

// job reads a job: approvals.ErrNotFound when there is none.
func (t *tx) job(k []byte) (*storedJob, error) {
	for _, bucket := range [][]byte{bucketQueue, bucketScheduled} {
		raw := t.value(bucket, k)
		if raw == nil {
			continue
		}
		rec := &storedJob{bucket: bucket, raw: raw}
		if err := t.decode(bucket, k, raw, &rec.jobRecord); err != nil {
			return nil, err
		}
		if bytes.Equal(bucket, bucketScheduled) {
			rec.due = dueKey(&rec.Job)
		}
		return rec, nil
	}
	return nil, approvals.ErrNotFound
}

// dueAt reports whether the job may be handled at the instant, which is in nanoseconds. What lies in the bucket queue
// and is due much later was due when it was written, by another clock.
func (j *storedJob) dueAt(now uint64) bool {
	at := instant(j.Due)
	return at <= now || j.due == nil && at > now+uint64(soon)
}

// putJob writes a job that job has read, or a new one, where it belongs now. A job without a due time is removed.
func (t *tx) putJob(k []byte, rec *storedJob) error {
	t.jobs = true
	var bucket, due []byte
	switch {
	case len(rec.DueTimes) == 0:
	case rec.Due.After(t.now.Add(soon)):
		bucket, due = bucketScheduled, dueKey(&rec.Job)
		t.ready = append(t.ready, readyJob{kind: rec.Kind, group: rec.Group, key: string(k), due: rec.Due})
	case rec.Due.After(t.now):
		bucket = bucketQueue
		t.ready = append(t.ready, readyJob{kind: rec.Kind, group: rec.Group, key: string(k), due: rec.Due, soon: true})
	default:
		bucket = bucketQueue
		t.ready = append(t.ready, readyJob{kind: rec.Kind, group: rec.Group, key: string(k)})
	}
	var err error
	if rec.due != nil && !bytes.Equal(rec.due, due) {
		err = t.drop(bucketScheduledDue, rec.due)
	}
	if due != nil && !bytes.Equal(rec.due, due) {
		err = errors.Join(err, t.mark(bucketScheduledDue, due))
	}
	old := rec.raw
	if rec.bucket != nil && !bytes.Equal(rec.bucket, bucket) {
		err = errors.Join(err, t.drop(rec.bucket, k))
		old = nil
	}
	if bucket != nil {
		err = errors.Join(err, t.replace(t.bucket(bucket), k, old, t.encode(bucket, k, &rec.jobRecord)))
	}
	return err
}

// ackJob removes the due times of a job up to a generation, and the job when none is left.
func (t *tx) ackJob(k []byte, gen uint64) (err error) {
	defer t.end(t.begin(), &err)
	rec, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	rec.ack(gen)
	return t.putJob(k, rec)
}

// retryJob plans to handle a job again that failed at a generation, unless it was deleted, and perhaps enqueued anew,
// since.
func (t *tx) retryJob(k []byte, gen uint64, cause error) (err error) {
	defer t.end(t.begin(), &err)
	rec, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) || err == nil && gen < rec.First {
		return nil
	}
	if err != nil {
		return err
	}
	if asked, ok := errors.AsType[*approvals.RetryError](cause); ok {
		before := rec.Attempts
		if rec.retry(gen, t.now, min(asked.After, approvals.MaxPause), true); asked.Uncounted {
			rec.Attempts = before
		}
	} else {
		rec.retry(gen, t.now, backOff(rec.Attempts), false)
	}
	return t.putJob(k, rec)
}

// findJobs calls fn with the keys of the jobs in the bucket queue, and their records.
func (t *tx) findJobs(fn func(k []byte, rec *jobRecord) error) (err error) {
	defer t.end(t.begin(), &err)
	return t.eachQueued(func(ws, id string) (bool, error) {
		return true, t.scan(bucketQueue, key(ws, id, partJob), nil, func(k, v []byte) (bool, error) {
			rec := new(jobRecord)
			if err := t.decode(bucketQueue, k, v, rec); err != nil {
				return false, err
			}
			return true, fn(k, rec)
		})
	})
}
