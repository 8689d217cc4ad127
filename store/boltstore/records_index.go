package boltstore

import (
	"bytes"

	"countersign/approvals"
)

// An index entry is a key, mostly without a value in a bucket of its own. The entries of a record follow from the
// record alone, so that its old form tells what to remove.
type indexEntry struct{ bucket, key []byte }

// index describes the indexes of one bucket of records, for Check. Contents of requests count as an index of their
// heads.
type index struct {
	records []byte
	buckets [][]byte
	entries func(t *tx, k, v []byte) ([]indexEntry, error)
}

var indexes = []index{
	{bucketRuns, [][]byte{bucketPlaces, bucketRequesters, bucketChannels, bucketQueue, bucketEnded,
		bucketRequests, bucketContents, bucketPending},
		func(t *tx, k, v []byte) ([]indexEntry, error) {
			if countParts(k) == 2 {
				r := new(approvals.Run)
				err := t.decode(bucketRuns, k, v, r)
				facts := factsOf(r)
				return facts.entries(), err
			}
			r := new(approvals.RequestHead)
			err := t.decode(bucketRuns, k, v, r)
			list := []indexEntry{{bucketContents, bytes.Clone(k)},
				{bucketRequests, key(string(r.Workspace), string(r.ID), string(r.Run))}}
			if facts := pendingOf(r); facts.pending {
				list = append(list, indexEntry{bucketPending, facts.key()})
			}
			return list, err
		}},
	{bucketGrants, [][]byte{bucketGrantsOpen}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		g := new(approvals.Grant)
		err := t.decode(bucketGrants, k, v, g)
		return grantEntries(g), err
	}},
	{bucketScheduled, [][]byte{bucketScheduledDue}, func(t *tx, k, v []byte) ([]indexEntry, error) {
		rec := new(jobRecord)
		err := t.decode(bucketScheduled, k, v, rec)
		return []indexEntry{{bucketScheduledDue, dueKey(&rec.Job)}}, err
	}},
}

// runFacts is what the index entries of a run are made of. The zero value has none.
type runFacts struct {
	ws        approvals.WorkspaceID
	id        approvals.RunID
	place     approvals.Place
	requester approvals.UserID
	working   bool // queued or running
	ended     bool
	at        uint64 // when it ended
}

func factsOf(r *approvals.Run) runFacts {
	f := runFacts{ws: r.Workspace, id: r.ID, place: r.Place, requester: r.Requester, ended: r.Status.Ended()}
	f.working = r.Status == approvals.RunQueued || r.Status == approvals.RunRunning
	if f.ended {
		f.at = instant(r.Ended)
	}
	return f
}

func (f *runFacts) entries() []indexEntry {
	switch {
	case f.id == "":
		return nil
	case f.ended:
		return []indexEntry{{bucketEnded, appendPart(appendNumber(key(string(f.ws)), f.at), string(f.id))}}
	}
	entries := []indexEntry{
		{bucketPlaces, appendPart(placeKey(f.ws, f.place), string(f.id))},
		{bucketRequesters, key(string(f.ws), string(f.requester), string(f.id))},
		{bucketChannels, key(string(f.ws), f.place.Channel, string(f.id))},
	}
	if f.working {
		entries = append(entries, indexEntry{bucketQueue, f.workingKey()})
	}
	return entries
}

// workingKey marks, beside the jobs, a run that is queued or running: whenever it becomes so, a job is written too.
func (f *runFacts) workingKey() []byte { return key(string(f.ws), string(f.id), partRun) }

// pendingFacts is what the index entry of a pending request is made of; its value is who asked. The zero value has
// none.
type pendingFacts struct {
	ws        approvals.WorkspaceID
	id        approvals.RequestID
	run       approvals.RunID
	requester approvals.UserID
	pending   bool
}

func pendingOf(r *approvals.RequestHead) pendingFacts {
	return pendingFacts{r.Workspace, r.ID, r.Run, r.Requester, r.Status == approvals.RequestPending}
}

func (f *pendingFacts) key() []byte { return key(string(f.ws), string(f.id), string(f.run)) }

// reindexPending replaces the index entry of a request's old form by that of its new one.
func (t *tx) reindexPending(was, is pendingFacts) error {
	switch {
	case was == is, !was.pending && !is.pending:
		return nil
	case is.pending:
		// An entry of the same request takes the place of the old one.
		return t.putRaw(bucketPending, is.key(), []byte(is.requester))
	}
	return t.drop(bucketPending, was.key())
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
			if err := t.add(e.bucket, e.key); err != nil {
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
