package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// pass is one look of the dispatcher at the file, for jobs to start.
type pass struct {
	d        *dispatcher
	t        *tx
	answered map[string]uint64 // the ledger
	now      time.Time
	took     map[approvals.JobKind]int
	ready    []dueJob
	next     time.Time
}

// run returns the jobs to start now and when the next one will be due.
func (p *pass) run() (ready []dueJob, next time.Time, err error) {
	defer p.t.end(p.t.begin(), &err)
	for kind, ok := p.kind(nil); ok; kind, ok = p.kind(behind(key(kind))) {
		if err := p.collect(approvals.JobKind(kind)); err != nil {
			return nil, time.Time{}, err
		}
	}
	for kind, line := range p.d.lines {
		if err := p.serve(kind, line); err != nil {
			return nil, time.Time{}, err
		}
	}
	return p.ready, p.next, nil
}

// room reports whether there is a handler free for one more job of the kind.
func (p *pass) room(kind approvals.JobKind) bool {
	return p.d.running[kind]+p.took[kind] < p.d.store.cfg.Workers
}

// kind returns the first kind of job, at or behind the key, of which some were put off.
func (p *pass) kind(from []byte) (string, bool) {
	k, _ := p.t.btx.Bucket(bucketLaterDue).Cursor().Seek(from)
	kind, _, ok := cutPart(k)
	return kind, ok
}

// collect takes the jobs of one kind that were put off and are due by now.
func (p *pass) collect(kind approvals.JobKind) error {
	prefix := key(string(kind))
	latest := appendNumber(nil, instant(p.now))
	return p.t.scan(bucketLaterDue, prefix, nil, func(k, _ []byte) (bool, error) {
		if !p.room(kind) {
			return false, nil // a handler that ends looks again
		}
		at, rest := k[len(prefix):len(prefix)+8], k[len(prefix)+8:]
		if bytes.Compare(at, latest) > 0 {
			p.later(dueTime(at))
			return false, nil
		}
		ws, rest, _ := cutPart(rest)
		job := jobKey(approvals.WorkspaceID(ws), kind, lastPart(rest))
		_, err := p.take(bucketLater, job)
		if errors.Is(err, approvals.ErrNotFound) {
			err = p.t.damaged(fmt.Errorf("%s %q is in an index but missing", bucketLater, job))
		}
		return true, err
	})
}

// serve takes the jobs of one kind that were due when they were written.
func (p *pass) serve(kind approvals.JobKind, l *line) (err error) {
	l.serve(func(key string) (keep, stop bool) {
		if err != nil || !p.room(kind) {
			return true, true
		}
		keep, err = p.take(bucketWork, []byte(key))
		if errors.Is(err, approvals.ErrNotFound) { // removed, or put off
			keep, err = false, nil
		}
		return keep, false
	})
	return err
}

// later notes that a job will be due then.
func (p *pass) later(due time.Time) {
	if p.next.IsZero() || due.Before(p.next) {
		p.next = due
	}
}

// take adds the job to those that are ready, unless it is being handled or what the file says of it is about to be
// overtaken by the ledger. It reports whether the job will be ready, unless the ledger comes first.
func (p *pass) take(bucket, k []byte) (later bool, err error) {
	if p.d.busy[string(k)] {
		return false, nil
	}
	rec := new(jobRecord)
	if err := p.t.get(bucket, k, rec); err != nil {
		return false, err
	}
	if gen, ok := p.answered[string(k)]; ok {
		if !rec.answer(gen) {
			return false, nil
		}
		if rec.Due.After(p.now) {
			p.later(rec.Due)
			return true, nil
		}
	}
	p.took[rec.Kind]++
	p.ready = append(p.ready, dueJob{key: string(k), Job: rec.Job, gen: rec.Gen})
	return false, nil
}
