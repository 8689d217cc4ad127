package storetest

import (
	"math"
	"slices"
	"time"

	"countersign/approvals"
)

func (t *memoryTx) Run(ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	return get[approvals.Run](t, key("run", ws, string(id)))
}

func (t *memoryTx) PutRun(r *approvals.Run) error {
	if err := identified(r.Workspace, string(r.ID)); err != nil {
		return err
	}
	return t.put(key("run", r.Workspace, string(r.ID)), r)
}

// samePlace compares what identifies a place.
func samePlace(a, b approvals.Place) bool { return slices.Equal(placeParts(a), placeParts(b)) }

func (t *memoryTx) ActiveRun(ws approvals.WorkspaceID, p approvals.Place) (*approvals.Run, error) {
	runs, err := list(t, key("run", ws), 1, func(r *approvals.Run) bool {
		return !r.Status.Ended() && samePlace(r.Place, p)
	})
	if err == nil && len(runs) == 0 {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return runs[0], nil
}

func (t *memoryTx) ActiveRuns(ws approvals.WorkspaceID, requester approvals.UserID, channel string) (int, error) {
	n := 0
	err := t.reading()
	for range matching(t, key("run", ws), func(r *approvals.Run) bool {
		return !r.Status.Ended() && (requester == "" || r.Requester == requester) &&
			(channel == "" && requester != "" || r.Place.Channel == channel)
	}) {
		n++
	}
	return n, err
}

func (t *memoryTx) LapsedLeases(at, latest time.Time, limit int) ([]approvals.RunKey, error) {
	runs, err := list(t, everywhere("run"), limit, func(r *approvals.Run) bool {
		lapsed := !r.LeaseUntil.After(at) || r.LeaseUntil.After(latest)
		return r.Status == approvals.RunQueued || r.Status == approvals.RunRunning && lapsed
	})
	var keys []approvals.RunKey
	for _, r := range runs {
		keys = append(keys, approvals.RunKey{Workspace: r.Workspace, Run: r.ID, Place: r.Place})
	}
	return keys, err
}

func (t *memoryTx) QueryRuns(q approvals.RunQuery) ([]*approvals.Run, approvals.RunID, error) {
	if err := t.reading(); err != nil || q.Limit <= 0 {
		return nil, "", err
	}
	var page []*approvals.Run
	var last approvals.RunID
	looked := 0
	for v := range t.ordered("run", q.Workspace, string(q.After), q.Newest) {
		r := look[approvals.Run](v)
		if q.Open() && r.Status.Ended() {
			continue // as an index would: ended runs cost nothing
		}
		if len(page) == q.Limit || looked == t.looks {
			return page, last, nil
		}
		looked++
		last = r.ID
		if !q.Matches(r) {
			continue
		}
		own, err := decode[approvals.Run](v)
		if err != nil {
			return nil, "", err
		}
		page = append(page, own)
	}
	return page, "", nil
}

func (t *memoryTx) EndedRuns(ws approvals.WorkspaceID, before time.Time, limit int) ([]approvals.RunID, error) {
	runs, err := list(t, key("run", ws), math.MaxInt, func(r *approvals.Run) bool {
		return r.Status.Ended() && r.Ended.Before(before)
	})
	slices.SortStableFunc(runs, func(a, b *approvals.Run) int { return a.Ended.Compare(b.Ended) })
	var ids []approvals.RunID
	for _, r := range runs[:min(len(runs), max(limit, 0))] {
		ids = append(ids, r.ID)
	}
	return ids, err
}

func (t *memoryTx) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	return t.change(func() error {
		t.remove(key("run", ws, string(id)))
		t.removeAll(key("effect", ws, string(id)))
		t.remove(key("state", ws, string(id)))
		t.removeAll(key("chunk", ws, string(id)))
		return nil
	})
}

func (t *memoryTx) Once(ws approvals.WorkspaceID, event string, now time.Time) (bool, error) {
	if err := identified(ws, event); err != nil {
		return false, err
	}
	if err := t.usable(true); err != nil {
		return false, err
	}
	if err := t.reading(); err != nil {
		return false, err
	}
	k := key("once", ws, event)
	if t.root.get(k) != nil {
		return false, nil
	}
	return true, t.put(k, now)
}

func (t *memoryTx) Events(ws approvals.WorkspaceID, after string, limit int) ([]approvals.Event, error) {
	if err := t.reading(); err != nil || limit <= 0 {
		return nil, err
	}
	var list []approvals.Event
	prefix := key("once", ws)
	start := prefix
	if after != "" {
		start = key("once", ws, after) + "\x00"
	}
	for k, v := range t.rows(prefix, start) {
		at, err := decode[time.Time](v)
		if err != nil {
			return nil, err
		}
		list = append(list, approvals.Event{Key: parts(k)[2], At: *at})
		if len(list) == limit {
			break
		}
	}
	return list, nil
}

func (t *memoryTx) DeleteEvent(ws approvals.WorkspaceID, event string) error {
	return t.drop(key("once", ws, event))
}

func inputKey(in *approvals.QueuedInput) string {
	return key("input", in.Workspace, placeParts(in.Place, string(in.ID))...)
}

func (t *memoryTx) PutInput(in *approvals.QueuedInput) error {
	if err := identified(in.Workspace, string(in.ID)); err != nil {
		return err
	}
	return t.put(inputKey(in), in)
}

func (t *memoryTx) Inputs(ws approvals.WorkspaceID, p approvals.Place, limit int) ([]*approvals.QueuedInput, error) {
	return list(t, key("input", ws, placeParts(p)...), limit, anything[approvals.QueuedInput])
}

func (t *memoryTx) DeleteInput(in *approvals.QueuedInput) error { return t.drop(inputKey(in)) }
