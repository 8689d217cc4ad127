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
	{bucketRuns, [][]byte{bucketPlaces, bucketRequesters, bucketChannels}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		var x runIndex
		ws, _, _ := cutPart(k)
		err := t.decode(bucketRuns, k, v, &x)
		return x.entries(approvals.WorkspaceID(ws), approvals.RunID(lastPart(k))), err
	}},
	{bucketRequests, [][]byte{bucketPending, bucketOfRun}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		var x requestIndex
		ws, _, _ := cutPart(k)
		err := t.decode(bucketRequests, k, v, &x)
		return x.entries(approvals.WorkspaceID(ws), approvals.RequestID(lastPart(k))), err
	}},
	{bucketJobs, [][]byte{bucketJobsDue}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		var rec jobRecord
		err := t.decode(bucketJobs, k, v, &rec)
		return []indexEntry{{bucketJobsDue, dueKey(&rec.Job)}}, err
	}},
}

// runIndex is what the indexes of runs are made of.
type runIndex struct {
	Place     approvals.Place     `json:"place"`
	Requester approvals.UserID    `json:"requester"`
	Status    approvals.RunStatus `json:"status"`
}

// entries returns the index entries of the run: none when it has ended.
func (x runIndex) entries(ws approvals.WorkspaceID, id approvals.RunID) []indexEntry {
	if x.Status.Ended() {
		return nil
	}
	return []indexEntry{
		{bucketPlaces, appendPart(placeKey(ws, x.Place), string(id))},
		{bucketRequesters, key(string(ws), string(x.Requester), string(id))},
		{bucketChannels, key(string(ws), x.Place.Channel, string(id))},
	}
}

// requestIndex is what the indexes of requests are made of.
type requestIndex struct {
	Run    approvals.RunID         `json:"run"`
	Status approvals.RequestStatus `json:"status"`
}

func (x requestIndex) entries(ws approvals.WorkspaceID, id approvals.RequestID) []indexEntry {
	list := []indexEntry{{bucketOfRun, key(string(ws), string(x.Run), string(id))}}
	if x.Status == approvals.RequestPending {
		list = append(list, indexEntry{bucketPending, key(string(ws), string(id))})
	}
	return list
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
