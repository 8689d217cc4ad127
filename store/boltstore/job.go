package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// maxWants bounds how many due times are kept for one job.
const maxWants = 8

// jobRecord is a job as it is stored. Every Enqueue of its key raises Gen and leaves a want: "handle it once more, not
// before Due". A handler that starts at generation g answers all wants up to g; those that come later stay.
type jobRecord struct {
	approvals.Job
	Gen uint64 `json:"gen"`
	// Wants is ascending in both Gen and Due: a want that is as early as an older one covers it.
	Wants []want `json:"wants"`
	// NotBefore is set when a handler asked for a pause with *approvals.RetryError; nothing shortens it.
	NotBefore time.Time `json:"not_before,omitzero"`
}

type want struct {
	Gen uint64    `json:"gen"`
	Due time.Time `json:"due"`
}

// add records one more Enqueue.
func (r *jobRecord) add(due, now time.Time) {
	r.Gen++
	w := want{Gen: r.Gen, Due: due}
	for n := len(r.Wants); n > 0; n = len(r.Wants) {
		last := r.Wants[n-1]
		bothDue := !last.Due.After(now) && !due.After(now)
		if last.Due.Before(due) && !bothDue && n < maxWants {
			break
		}
		if last.Due.Before(w.Due) {
			w.Due = last.Due
		}
		r.Wants = r.Wants[:n-1]
	}
	r.Wants = append(r.Wants, w)
	r.refresh()
}

// answer removes the wants up to gen and reports whether any is left.
func (r *jobRecord) answer(gen uint64) bool {
	for len(r.Wants) > 0 && r.Wants[0].Gen <= gen {
		r.Wants = r.Wants[1:]
	}
	r.Attempts = 0
	r.NotBefore = time.Time{}
	r.refresh()
	return len(r.Wants) > 0
}

// retry replaces the wants up to gen by one at due; firm says that newer wants may not be handled before it either.
func (r *jobRecord) retry(gen uint64, due time.Time, firm bool) {
	attempts := r.Attempts + 1
	r.answer(gen)
	r.Attempts = attempts
	if firm {
		r.NotBefore = due
	}
	if len(r.Wants) == 0 || due.Before(r.Wants[0].Due) {
		r.Wants = append([]want{{Gen: gen, Due: due}}, r.Wants...)
	}
	r.refresh()
}

// refresh sets Due from the wants.
func (r *jobRecord) refresh() {
	if len(r.Wants) == 0 {
		return
	}
	r.Due = r.Wants[0].Due
	if r.Due.Before(r.NotBefore) {
		r.Due = r.NotBefore
	}
}

// A job that is due when it is written lies in the bucket work, and the dispatcher is told of it after the commit. Any
// other lies in the bucket later, with an entry in an index by time. Both know it by the same key.
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

// dueKey orders the jobs of a kind by time. It is the one key that does not start with the workspace: the dispatcher
// serves all of them.
func dueKey(j *approvals.Job) []byte {
	k := appendNumber(key(string(j.Kind)), instant(j.Due))
	return appendPart(appendPart(k, string(j.Workspace)), j.ID)
}

// storedJob is a job as the file holds it.
type storedJob struct {
	jobRecord
	bucket, raw []byte // where, and what
	due         []byte // its entry in the index by time, in the bucket later
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
		rec.Attempts = 0
	case err != nil:
		return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
	case j.Place != nil:
		rec.Place = j.Place
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

// putJob writes a job that job has read, or a new one, where it belongs now. A job without wants is removed.
func (t *tx) putJob(k []byte, rec *storedJob, now time.Time) error {
	t.jobs = true
	var bucket, due []byte
	switch {
	case len(rec.Wants) == 0:
	case rec.Due.After(now):
		bucket, due = bucketLater, dueKey(&rec.Job)
	default:
		bucket = bucketWork
		t.ready = append(t.ready, readyJob{rec.Kind, string(k)})
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
