package boltstore

import (
	"bytes"
	"fmt"
	"math"

	"countersign/approvals"
)

// queryLooks bounds how many requests one call of QueryRequests looks at.
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

// eachRequest calls fn with the keys of the heads of all requests that the query may select, in the order of their ids.
func (t *tx) eachRequest(q *approvals.RequestQuery, fn func(head []byte) (bool, error)) error {
	ws := key(string(q.Workspace))
	if q.Run != "" && q.Status != approvals.RequestPending {
		run := appendPart(bytes.Clone(ws), string(q.Run))
		return t.scan(bucketRuns, run, from(run, string(q.After)), func(k, _ []byte) (bool, error) {
			if len(k) == len(run) { // the run itself
				return true, nil
			}
			return fn(k)
		})
	}
	bucket := bucketRequests
	if q.Status == approvals.RequestPending {
		bucket = bucketPending
	}
	return t.scan(bucket, ws, from(ws, string(q.After)), func(k, _ []byte) (bool, error) {
		id, run, ok := cutPart(k[len(ws):])
		if !ok {
			return false, t.damaged(fmt.Errorf("%s %q: unreadable key", bucket, k))
		}
		return fn(appendPart(append(bytes.Clone(ws), run...), id))
	})
}

// from returns the key at which a list continues behind a part; nil to begin it.
func from(prefix []byte, part string) []byte {
	if part == "" {
		return nil
	}
	return behind(appendPart(bytes.Clone(prefix), part))
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

func (t *tx) PendingOf(ws approvals.WorkspaceID, requester approvals.UserID) (n int, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return 0, err
	}
	err = t.scan(bucketPending, key(string(ws)), nil, func(k, v []byte) (bool, error) {
		by, err := unseal(k, v)
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
