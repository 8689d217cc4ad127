package boltstore

import (
	"bytes"
	"fmt"
	"math"

	"countersign/approvals"
)

// queryLooks bounds how many records one call of QueryRequests, or of QueryRuns, looks at.
const queryLooks = 1000

func (t *tx) QueryRequests(q approvals.RequestQuery) (
	page []*approvals.RequestHead, next approvals.RequestID, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || q.Limit <= 0 {
		return nil, "", err
	}
	looked, last := 0, approvals.RequestID("")
	err = t.eachRequest(&q, func(head []byte) (bool, error) {
		if len(page) == q.Limit || looked == queryLooks {
			next = last
			return false, nil
		}
		r := new(approvals.RequestHead)
		if err := t.indexed(bucketRuns, head, r); err != nil {
			return false, err
		}
		looked, last = looked+1, r.ID
		if q.Matches(r) {
			page = append(page, r)
		}
		return true, nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("query requests: %w", err)
	}
	return page, next, nil
}

// eachRequest calls fn with the keys of the heads of all requests that the query may select, in the order of the query.
func (t *tx) eachRequest(q *approvals.RequestQuery, fn func(head []byte) (bool, error)) error {
	ws := key(string(q.Workspace))
	if q.Run != "" && q.Status != approvals.RequestPending {
		run := appendPart(bytes.Clone(ws), string(q.Run))
		return t.ordered(bucketRuns, run, string(q.After), q.Newest, func(k, _ []byte) (bool, error) {
			if len(k) == len(run) { // the run itself
				return true, nil
			}
			return fn(k)
		})
	}
	bucket, settled := bucketRequests, q.Settled || q.Status != ""
	if q.Status == approvals.RequestPending {
		bucket, settled = bucketPending, false
	}
	waits := t.pendingWalk(q.Newest)
	return t.ordered(bucket, ws, string(q.After), q.Newest, func(k, _ []byte) (bool, error) {
		if settled && waits(k) { // passed over at the cost of a step in an index
			return true, nil
		}
		id, run, ok := cutPart(k[len(ws):])
		if !ok {
			return false, t.damaged(fmt.Errorf("%s %q: unreadable key", bucket, k))
		}
		return fn(appendPart(append(bytes.Clone(ws), run...), id))
	})
}

// pendingWalk returns what says whether the request with a key of the index is pending. It walks through the index of
// pending requests beside whoever calls it with keys in ascending order, or, newest first, in descending order.
func (t *tx) pendingWalk(newest bool) func(k []byte) bool {
	c := t.btx.Bucket(bucketPending).Cursor()
	var at []byte
	begun := false
	return func(k []byte) bool {
		if !begun {
			begun = true
			if at, _ = c.Seek(k); at == nil && newest {
				at, _ = c.Last()
			}
		}
		for !newest && at != nil && bytes.Compare(at, k) < 0 {
			at, _ = c.Next()
		}
		for newest && at != nil && bytes.Compare(at, k) > 0 {
			at, _ = c.Prev()
		}
		return bytes.Equal(at, k)
	}
}

// ordered is scan behind a part of the key, or, the newest first, backwards from it; empty: of all.
func (t *tx) ordered(bucket, prefix []byte, part string, newest bool, fn func(k, v []byte) (bool, error)) error {
	if !newest {
		return t.scan(bucket, prefix, from(prefix, part), fn)
	}
	return t.scanBack(bucket, prefix, before(prefix, part), fn)
}

// from returns the key at which a list continues behind a part; nil to begin it.
func from(prefix []byte, part string) []byte {
	if part == "" {
		return nil
	}
	return behind(appendPart(bytes.Clone(prefix), part))
}

// before returns the key before which a list continues that goes backwards, past a part or from its end.
func before(prefix []byte, part string) []byte {
	if part == "" {
		return behind(prefix)
	}
	return appendPart(bytes.Clone(prefix), part)
}

func (t *tx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) (
	list []*approvals.RequestHead, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix := key(string(ws), string(run))
	err = collect(t, &list, bucketRuns, prefix, append(bytes.Clone(prefix), 0), math.MaxInt) // behind the run itself
	return list, err
}

func (t *tx) RequestsOfRuns(ws approvals.WorkspaceID, runs []approvals.RunID) (
	list []*approvals.RequestHead, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	for _, run := range runs {
		of, err := t.RequestsOfRun(ws, run)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

func (t *tx) PendingOf(ws approvals.WorkspaceID, requester approvals.UserID) (n int, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return 0, err
	}
	want, plain := []byte(requester), !t.encrypts(bucketPending)
	err = t.scan(bucketPending, key(string(ws)), nil, func(k, v []byte) (bool, error) {
		if plain && !bytes.HasSuffix(v, want) {
			return true, nil // somebody else's: most are, and each checksum would take longer than the rest
		}
		by, err := t.payload(bucketPending, k, v)
		if err != nil {
			return false, t.damaged(fmt.Errorf("%s %q: %w", bucketPending, k, err))
		}
		if string(by) == string(requester) {
			n++
		}
		return true, nil
	})
	return n, err
}
