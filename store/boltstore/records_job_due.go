package boltstore

import (
	"time"

	"countersign/approvals"
)

// maxDueTimes bounds how many due times are kept for one job.
const maxDueTimes = 8

// jobRecord is a job as it is stored. Every Enqueue of its key raises Generation and adds a due time: "handle it once
// more, not before then". A handler that starts at generation g acknowledges all due times up to g; later ones stay.
type jobRecord struct {
	approvals.Job
	First uint64 `json:"first"` // the generation with which the job began; handlers of earlier ones had another job
	// DueTimes is ascending in both Gen and Due: one that is as early as an older one replaces it.
	DueTimes []dueTime `json:"due_times"`
	// NotBefore is set when a handler asked for a pause with *approvals.RetryError; nothing shortens it, but see
	// approvals.MaxPause.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Paused is when it did; zero in records of earlier versions.
	Paused time.Time `json:"paused,omitzero"`
}

type dueTime struct {
	Gen uint64    `json:"gen"`
	Due time.Time `json:"due"`
}

// update takes over what the newer job says; what it leaves empty stays.
func (r *jobRecord) update(j approvals.Job) {
	if j.Place != nil {
		r.Place = j.Place
	}
	if j.Copy != "" {
		r.Copy = j.Copy
	}
	if j.Group != "" {
		r.Group = j.Group
	}
}

// add records one more Enqueue.
func (r *jobRecord) add(gen uint64, due, now time.Time) {
	r.Generation = gen
	if r.Paused.After(now) || r.NotBefore.After(now.Add(approvals.MaxPause)) {
		r.unpause()
	}
	d := dueTime{Gen: gen, Due: due}
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
	r.unpause()
	r.refresh()
	return len(r.DueTimes) > 0
}

// unpause forgets what a handler has asked for.
func (r *jobRecord) unpause() { r.NotBefore, r.Paused = time.Time{}, time.Time{} }

// retry replaces the due times up to gen by one, after the pause; firm says that newer ones may not be handled before
// it either.
func (r *jobRecord) retry(gen uint64, now time.Time, pause time.Duration, firm bool) {
	attempts := r.Attempts + 1
	r.ack(gen)
	r.Attempts = attempts
	due := now.Add(pause)
	if firm {
		r.NotBefore, r.Paused = due, now
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
