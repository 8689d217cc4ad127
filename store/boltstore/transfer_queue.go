package boltstore

import (
	"bytes"
	"slices"

	"countersign/approvals"
	"countersign/store/transfer"
)

// The queue holds jobs and notifications in an order of its own, and other jobs lie elsewhere.

// counterRecord is the one record of its kind.
func (t *tx) counterRecord(after transfer.Key) ([]transfer.Record, error) {
	if len(after) > 0 {
		return nil, nil
	}
	return []transfer.Record{transfer.Counter{Generation: t.btx.Bucket(bucketQueue).Sequence()}}, nil
}

// jobRecords reads a page of the jobs, which lie in two buckets.
func (t *tx) jobRecords(after transfer.Key) (page []transfer.Record, err error) {
	for _, bucket := range [][]byte{bucketQueue, bucketScheduled} {
		some, err := t.jobRecordsIn(bucket, after)
		if err != nil {
			return nil, err
		}
		page = append(page, some...)
	}
	slices.SortFunc(page, func(a, b transfer.Record) int { return a.Key().Compare(b.Key()) })
	return page[:min(len(page), transfer.PageRecords)], nil
}

func (t *tx) jobRecordsIn(bucket []byte, after transfer.Key) (page []transfer.Record, err error) {
	var from []byte
	if len(after) == 3 { // workspace, id, kind
		from = append(jobKey(approvals.WorkspaceID(after[0]), approvals.JobKind(after[2]), after[1]), 0)
	}
	err = t.scan(bucket, nil, from, func(k, v []byte) (bool, error) {
		_, _, rest, ok := cutTwo(k)
		what, _, more := cutPart(rest)
		if !ok || !more {
			return false, t.unreadable(bucket, k)
		}
		if what != partJob {
			return true, nil
		}
		rec := new(jobRecord)
		if err := t.decode(bucket, k, v, rec); err != nil {
			return false, err
		}
		rec.Due = transfer.Microsecond(rec.Due)
		page = append(page, transfer.Job{Job: rec.Job, NotBefore: transfer.Microsecond(rec.NotBefore)})
		return len(page) < transfer.PageRecords, nil
	})
	return page, err
}

// waitingList is what waits to be delivered: the keys of all records, in their order, and where they lie.
type waitingList []waitingEntry

type waitingEntry struct {
	key transfer.Key
	raw []byte
}

// waitingRecords reads a page of the notifications that wait. The first call makes the list of them: their keys alone
// are held in memory, of what nobody has been able to deliver.
func (t *tx) waitingRecords(list **waitingList, after transfer.Key) (page []transfer.Record, err error) {
	if *list == nil {
		if *list, err = t.waiting(); err != nil {
			return nil, err
		}
	}
	all := **list
	at, found := slices.BinarySearchFunc(all, after, func(e waitingEntry, after transfer.Key) int {
		return e.key.Compare(after)
	})
	if found {
		at++
	}
	size := 0
	for _, e := range all[at:] {
		n := new(approvals.Notification)
		v := t.value(bucketQueue, e.raw)
		if err := t.decode(bucketQueue, e.raw, v, n); err != nil {
			return nil, err
		}
		page, size = append(page, transfer.Notification{Notification: n}), size+len(v)
		if len(page) == transfer.PageRecords || size >= transfer.PageBytes {
			break
		}
	}
	return page, nil
}

func (t *tx) waiting() (*waitingList, error) {
	list := new(waitingList)
	err := t.scan(bucketQueue, nil, nil, func(k, v []byte) (bool, error) {
		_, _, rest, ok := cutTwo(k)
		what, _, more := cutPart(rest)
		if !ok || !more {
			return false, t.unreadable(bucketQueue, k)
		}
		if what != partNotification {
			return true, nil
		}
		n := new(approvals.Notification)
		if err := t.decode(bucketQueue, k, v, n); err != nil {
			return false, err
		}
		*list = append(*list, waitingEntry{transfer.Notification{Notification: n}.Key(), bytes.Clone(k)})
		return true, nil
	})
	slices.SortFunc(*list, func(a, b waitingEntry) int { return a.key.Compare(b.key) })
	return list, err
}
