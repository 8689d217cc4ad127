package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// maxDueTimes bounds how many due times are kept for one job.
const maxDueTimes = 8

// jobRecord is a job as it is stored. Every Enqueue of its key raises Gen, the generation, and adds a due time:
// "handle it once more, not before then". A handler that starts at generation g acknowledges all due times up to g;
// later ones stay.
type jobRecord struct {
	approvals.Job
	Gen uint64 `json:"gen"`
	// DueTimes is ascending in both Gen and Due: one that is as early as an older one replaces it.
	DueTimes []dueTime `json:"due_times"`
	// NotBefore is set when a handler asked for a pause with *approvals.RetryError; nothing shortens it.
	NotBefore time.Time `json:"not_before,omitzero"`
}

type dueTime struct {
	Gen uint64    `json:"gen"`
	Due time.Time `json:"due"`
}

// add records one more Enqueue.
func (r *jobRecord) add(due, now time.Time) {
	r.Gen++
	d := dueTime{Gen: r.Gen, Due: due}
	for n := len(r.DueTimes); n > 0; n = len(r.DueTimes) {
		last := r.DueTimes[n-1]
		bothDue := !last.Due.After(now) && !due.After(now)
		if last.Due.Before(due) && !bothDue && n < maxDueTimes {
			break
		}
		if last.Due.Before(d.Due) {
			d.Due = last.Due
		}
		r.DueTimes = r.DueTimes[:n-1]
	}
	r.DueTimes = append(r.DueTimes, d)
	r.refresh()
}

// ack removes the due times up to gen and reports whether any is left.
func (r *jobRecord) ack(gen uint64) bool {
	for len(r.DueTimes) > 0 && r.DueTimes[0].Gen <= gen {
		r.DueTimes = r.DueTimes[1:]
	}
	r.Attempts = 0
	r.NotBefore = time.Time{}
	r.refresh()
	return len(r.DueTimes) > 0
}

// retry replaces the due times up to gen by one; firm says that newer ones may not be handled before it either.
func (r *jobRecord) retry(gen uint64, due time.Time, firm bool) {
	attempts := r.Attempts + 1
	r.ack(gen)
	r.Attempts = attempts
	if firm {
		r.NotBefore = due
	}
	if len(r.DueTimes) == 0 || due.Before(r.DueTimes[0].Due) {
		r.DueTimes = append([]dueTime{{Gen: gen, Due: due}}, r.DueTimes...)
	}
	r.refresh()
}

// refresh sets Due from the due times.
func (r *jobRecord) refresh() {
	if len(r.DueTimes) == 0 {
		return
	}
	r.Due = r.DueTimes[0].Due
	if r.Due.Before(r.NotBefore) {
		r.Due = r.NotBefore
	}
}

// A job that is due when it is written lies in the bucket work, any other in the bucket later, with an entry in an
// index by time. Both know it by the same key. The scheduler is told of it after the commit.
func jobKey(ws approvals.WorkspaceID, kind approvals.JobKind, id string) []byte {
	return key(string(ws), id, partJob, string(kind))
}

// In the bucket work, what belongs to a job's id or a place's key is told apart by a part of the key.
const (
	partJob          = "j"
	partNotification = "n"
)

// jobOf takes a key of the bucket work apart, if it is a job's.
func jobOf(k []byte) (kind approvals.JobKind, ok bool) {
	_, rest, _ := cutPart(k)
	_, rest, _ = cutPart(rest)
	part, rest, _ := cutPart(rest)
	name, _, ok := cutPart(rest)
	return approvals.JobKind(name), ok && part == partJob
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
	due         []byte // its entry in the index by time; nil in the bucket work
}

func (t *tx) Enqueue(j approvals.Job) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("job", string(j.Workspace), string(j.Kind), j.ID)); err != nil {
		return err
	}
	k := jobKey(j.Workspace, j.Kind, j.ID)
	rec, err := t.job(k)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		rec = &storedJob{jobRecord: jobRecord{Job: j}}
		rec.Attempts, rec.Generation = 0, 0
	case err != nil:
		return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
	default:
		rec.Group = j.Group
		if j.Place != nil {
			rec.Place = j.Place
		}
	}
	now := time.Now()
	rec.add(j.Due, now)
	if err := t.putJob(k, rec, now); err != nil {
		return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
	}
	return nil
}

// job reads a job: approvals.ErrNotFound when there is none.
func (t *tx) job(k []byte) (*storedJob, error) {
	for _, bucket := range [][]byte{bucketWork, bucketLater} {
		raw := t.btx.Bucket(bucket).Get(k)
		if raw == nil {
			continue
		}
		rec := &storedJob{bucket: bucket, raw: raw}
		if err := t.decode(bucket, k, raw, &rec.jobRecord); err != nil {
			return nil, err
		}
		if bytes.Equal(bucket, bucketLater) {
			rec.due = dueKey(&rec.Job)
		}
		return rec, nil
	}
	return nil, approvals.ErrNotFound
}

// putJob writes a job that job has read, or a new one, where it belongs now. A job without a due time is removed.
func (t *tx) putJob(k []byte, rec *storedJob, now time.Time) error {
	t.jobs = true
	var bucket, due []byte
	switch {
	case len(rec.DueTimes) == 0:
	case rec.Due.After(now):
		bucket, due = bucketLater, dueKey(&rec.Job)
		t.ready = append(t.ready, readyJob{rec.Kind, rec.Group, string(k), rec.Due})
	default:
		bucket = bucketWork
		t.ready = append(t.ready, readyJob{kind: rec.Kind, group: rec.Group, key: string(k)})
	}
	var err error
	if rec.due != nil && !bytes.Equal(rec.due, due) {
		err = t.drop(bucketLaterDue, rec.due)
	}
	if due != nil && !bytes.Equal(rec.due, due) {
		err = errors.Join(err, t.mark(bucketLaterDue, due))
	}
	old := rec.raw
	if rec.bucket != nil && !bytes.Equal(rec.bucket, bucket) {
		err = errors.Join(err, t.drop(rec.bucket, k))
		old = nil
	}
	if bucket != nil {
		err = errors.Join(err, t.replace(t.btx.Bucket(bucket), k, old, t.encode(k, &rec.jobRecord)))
	}
	return err
}
