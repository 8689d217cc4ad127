package boltstore

import (
	"bytes"
	"time"
)

// planBatch is how many planned jobs one transaction makes due.
const planBatch = 500

// dueNow makes everything due that is planned for later. It is for a store whose clock is behind its newest record:
// what was planned while the clock was ahead would wait until it has come there, and by which clock a job was planned
// cannot be told. Handlers look at the records, and put off what is not due.
func (s *Store) dueNow() error {
	for more := true; more; {
		err := s.change(func(t *tx) (err error) {
			more, err = t.dueNow(planBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dueNow makes planned jobs due, at most limit, and reports whether there may be more.
func (t *tx) dueNow(limit int) (more bool, err error) {
	var keys [][]byte
	err = t.scan(bucketScheduled, nil, nil, func(k, _ []byte) (bool, error) {
		keys = append(keys, bytes.Clone(k))
		return len(keys) < limit, nil
	})
	if err != nil {
		return false, err
	}
	for _, k := range keys {
		rec, err := t.job(k)
		if err != nil {
			return false, err
		}
		rec.dueNow(t.now)
		if err := t.putJob(k, rec); err != nil {
			return false, err
		}
	}
	return len(keys) == limit, nil
}

// dueNow takes all that is planned of the job back to now.
func (r *jobRecord) dueNow(now time.Time) {
	r.unpause()
	r.DueTimes = []dueTime{{Gen: r.Generation, Due: now}}
	r.refresh()
}
