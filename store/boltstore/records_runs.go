package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"countersign/approvals"
)

func (t *tx) QueryRuns(q approvals.RunQuery) (page []*approvals.Run, next approvals.RunID, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || q.Limit <= 0 {
		return nil, "", err
	}
	looked, last := 0, approvals.RunID("")
	err = t.eachRun(&q, func(id string) (bool, error) {
		if len(page) == q.Limit || looked == queryLooks {
			next = last
			return false, nil
		}
		looked, last = looked+1, approvals.RunID(id)
		r := new(approvals.Run)
		if err := t.get(bucketRuns, key(string(q.Workspace), id), r); errors.Is(err, approvals.ErrNotFound) {
			return true, nil // there are only requests of it
		} else if err != nil {
			return false, err
		}
		if q.Matches(r) {
			page = append(page, r)
		}
		return true, nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("query runs: %w", err)
	}
	return page, next, nil
}

// eachRun calls fn with the ids of all runs that the query may select, in the order of the query, until fn returns
// false or an error. A run of which there are only requests is named too.
func (t *tx) eachRun(q *approvals.RunQuery, fn func(id string) (bool, error)) error {
	if q.Open() {
		return t.eachOpenRun(q, fn)
	}
	ws := key(string(q.Workspace))
	for found := t.firstOf(ws, q); bytes.HasPrefix(found, ws); {
		id, _, ok := cutPart(found[len(ws):])
		if !ok {
			return t.damaged(fmt.Errorf("%s %q: unreadable key", bucketRuns, found))
		}
		if more, err := fn(id); err != nil || !more {
			return err
		}
		next := *q
		next.After = approvals.RunID(id)
		found = t.firstOf(ws, &next)
	}
	return t.cancelled()
}

// firstOf returns the first key of a run, or of a request of one, behind the query's After; nil when there is none. The
// requests of that run are passed over at one go.
func (t *tx) firstOf(ws []byte, q *approvals.RunQuery) []byte {
	if q.Newest {
		c := t.cursor(bucketRuns)
		k, _ := seekBefore(c, before(ws, string(q.After)))
		return k
	}
	if q.After == "" {
		return t.seek(bucketRuns, ws)
	}
	return t.seek(bucketRuns, from(ws, string(q.After)))
}

// eachOpenRun is eachRun for runs that have not ended: the index of their places lists them.
func (t *tx) eachOpenRun(q *approvals.RunQuery, fn func(id string) (bool, error)) error {
	var ids []string
	err := t.scan(bucketPlaces, key(string(q.Workspace)), nil, func(k, _ []byte) (bool, error) {
		id := lastPart(k)
		if q.After == "" || q.Newest && id < string(q.After) || !q.Newest && id > string(q.After) {
			ids = append(ids, id)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.Sort(ids)
	if q.Newest {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		if more, err := fn(id); err != nil || !more {
			return err
		}
	}
	return nil
}
