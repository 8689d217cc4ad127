package boltstore

import (
	"bytes"

	"countersign/approvals"
)

// An index entry is a key without a value in a bucket of its own. The entries of a record follow from the record
// alone, so that its old form tells what to remove.
type indexEntry struct{ bucket, key []byte }

// index describes the indexes of one bucket of records, for Check.
type index struct {
	records []byte
	buckets [][]byte
	entries func(t *tx, k, v []byte) ([]indexEntry, error)
}

var indexes = []index{
	{bucketRuns, [][]byte{bucketPlaces, bucketRequesters, bucketChannels, bucketRequests, bucketPending},
		func(t *tx, k, v []byte) ([]indexEntry, error) {
			if countParts(k) == 2 {
				r := new(approvals.Run)
				err := t.decode(bucketRuns, k, v, r)
				facts := factsOf(r)
				return facts.entries(), err
			}
			r := new(approvals.Request)
			err := t.decode(bucketRuns, k, v, r)
			return requestEntries(r), err
		}},
	{bucketLater, [][]byte{bucketLaterDue}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		rec := new(jobRecord)
		err := t.decode(bucketLater, k, v, rec)
		return []indexEntry{{bucketLaterDue, dueKey(&rec.Job)}}, err
	}},
}

// runFacts is what the index entries of a run are made of.
type runFacts struct {
	ws        approvals.WorkspaceID
	id        approvals.RunID
	place     approvals.Place
	requester approvals.UserID
	ended     bool
}

func factsOf(r *approvals.Run) runFacts {
	return runFacts{r.Workspace, r.ID, r.Place, r.Requester, r.Status.Ended()}
}

// entries returns the index entries of the run: none when it has ended.
func (f *runFacts) entries() []indexEntry {
	if f.ended {
		return nil
	}
	return []indexEntry{
		{bucketPlaces, appendPart(placeKey(f.ws, f.place), string(f.id))},
		{bucketRequesters, key(string(f.ws), string(f.requester), string(f.id))},
		{bucketChannels, key(string(f.ws), f.place.Channel, string(f.id))},
	}
}

// requestEntries returns the index entries of the request. Both buckets have the same keys.
func requestEntries(r *approvals.Request) []indexEntry {
	k := key(string(r.Workspace), string(r.ID), string(r.Run))
	if r.Status == approvals.RequestPending {
		return []indexEntry{{bucketRequests, k}, {bucketPending, k}}
	}
	return []indexEntry{{bucketRequests, k}}
}

// reindex replaces the index entries of a record's old form by those of its new one, touching only what differs.
func (t *tx) reindex(old, now []indexEntry) error {
	for _, e := range old {
		if !contains(now, e) {
			if err := t.drop(e.bucket, e.key); err != nil {
				return err
			}
		}
	}
	for _, e := range now {
		if !contains(old, e) {
			if err := t.mark(e.bucket, e.key); err != nil {
				return err
			}
		}
	}
	return nil
}

func contains(entries []indexEntry, e indexEntry) bool {
	for _, x := range entries {
		if bytes.Equal(x.bucket, e.bucket) && bytes.Equal(x.key, e.key) {
			return true
		}
	}
	return false
}
