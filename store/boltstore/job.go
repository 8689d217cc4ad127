package boltstore

import (
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

func jobKey(j *approvals.Job) []byte { return key(string(j.Workspace), string(j.Kind), j.ID) }

// dueKey orders the jobs of a kind by time. It is the one key that does not start with the workspace: the dispatcher
// serves all of them.
func dueKey(j *approvals.Job) []byte {
	k := appendNumber(key(string(j.Kind)), instant(j.Due))
	return appendPart(appendPart(k, string(j.Workspace)), j.ID)
}

func (t *tx) Enqueue(j approvals.Job) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("job", string(j.Workspace), string(j.Kind), j.ID)); err != nil {
		return err
	}
	k := jobKey(&j)
	rec, oldDue, err := t.job(k)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		rec = &jobRecord{Job: j}
		rec.Attempts = 0
	case err != nil:
		return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
	case j.Place != nil:
		rec.Place = j.Place
	}
	rec.add(j.Due, time.Now())
	t.jobs = true
	if err := t.putJob(k, oldDue, rec); err != nil {
		return fmt.Errorf("enqueue %s %s: %w", j.Kind, j.ID, err)
	}
	return nil
}

// job reads a job and its key in the due index.
func (t *tx) job(k []byte) (rec *jobRecord, due []byte, err error) {
	rec = new(jobRecord)
	if err := t.get(bucketJobs, k, rec); err != nil {
		return nil, nil, err
	}
	return rec, dueKey(&rec.Job), nil
}

// putJob writes the job and moves its entry in the due index; nil removes both.
func (t *tx) putJob(k, oldDue []byte, rec *jobRecord) error {
	var old, now []indexEntry
	if oldDue != nil {
		old = []indexEntry{{bucketJobsDue, oldDue}}
	}
	if rec == nil {
		return errors.Join(t.reindex(old, nil), t.drop(bucketJobs, k))
	}
	now = []indexEntry{{bucketJobsDue, dueKey(&rec.Job)}}
	return errors.Join(t.reindex(old, now), t.put(bucketJobs, k, rec))
}
