package boltstore

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

func (t *tx) Run(ws approvals.WorkspaceID, id approvals.RunID) (r *approvals.Run, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	r = new(approvals.Run)
	raw, err := t.read(bucketRuns, key(string(ws), string(id)), r)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	if t.write {
		t.run, t.runRaw = factsOf(r), raw
	}
	return r, nil
}

func (t *tx) PutRun(r *approvals.Run) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("run", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	if err := t.putRun(r); err != nil {
		return fmt.Errorf("put run %s: %w", r.ID, err)
	}
	return nil
}

func (t *tx) putRun(r *approvals.Run) error {
	k := key(string(r.Workspace), string(r.ID))
	was, old, is := t.run, t.runRaw, factsOf(r)
	if was.ws != is.ws || was.id != is.id {
		stored := new(approvals.Run)
		var err error
		if old, err = t.read(bucketRuns, k, stored); err != nil && !errors.Is(err, approvals.ErrNotFound) {
			return err
		}
		was = runFacts{}
		if old != nil {
			was = factsOf(stored)
		}
	}
	raw := t.encode(bucketRuns, k, r)
	if err := t.replace(t.bucket(bucketRuns), k, old, raw); err != nil {
		return err
	}
	t.run, t.runRaw = is, raw
	return t.reindexRun(was, is)
}

// reindexRun is reindex for a run. Mostly it is only that somebody works on the run, or does no longer.
func (t *tx) reindexRun(was, is runFacts) error {
	before := was
	before.working = is.working
	switch {
	case was == is:
		return nil
	case before != is:
		return t.reindex(was.entries(), is.entries())
	case is.working:
		return t.add(bucketQueue, is.workingKey())
	}
	return t.drop(bucketQueue, is.workingKey())
}

func (t *tx) ActiveRun(ws approvals.WorkspaceID, p approvals.Place) (r *approvals.Run, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = t.scan(bucketPlaces, placeKey(ws, p), nil, func(k, _ []byte) (bool, error) {
		r = new(approvals.Run)
		return false, t.indexed(bucketRuns, key(string(ws), lastPart(k)), r)
	})
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, fmt.Errorf("active run of %s: %w", p.Channel, approvals.ErrNotFound)
	}
	return r, nil
}

func (t *tx) ActiveRuns(ws approvals.WorkspaceID, requester approvals.UserID, channel string) (n int, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return 0, err
	}
	bucket, prefix := bucketRequesters, key(string(ws), string(requester))
	if requester == "" {
		bucket, prefix = bucketChannels, key(string(ws), channel)
	}
	byBoth := requester != "" && channel != ""
	err = t.scan(bucket, prefix, nil, func(k, _ []byte) (bool, error) {
		if !byBoth || t.has(bucketChannels, key(string(ws), channel, lastPart(k))) {
			n++
		}
		return true, nil
	})
	return n, err
}

func (t *tx) LapsedLeases(at, latest time.Time, limit int) (list []approvals.RunKey, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.eachQueued(func(ws, id string) (bool, error) {
		if !t.has(bucketQueue, key(ws, id, partRun)) {
			return true, nil
		}
		r := new(approvals.Run)
		if err := t.indexed(bucketRuns, key(ws, id), r); err != nil {
			return false, err
		}
		if r.Status == approvals.RunQueued || !r.LeaseUntil.After(at) || r.LeaseUntil.After(latest) {
			list = append(list, approvals.RunKey{Workspace: r.Workspace, Run: r.ID, Place: r.Place})
		}
		return len(list) < limit, nil
	})
	return list, err
}

func (t *tx) EndedRuns(ws approvals.WorkspaceID, before time.Time, limit int) (list []approvals.RunID, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	prefix := key(string(ws))
	err = t.scan(bucketEnded, prefix, nil, func(k, _ []byte) (bool, error) {
		if number(k[len(prefix):]) >= instant(before) {
			return false, nil
		}
		list = append(list, approvals.RunID(lastPart(k[len(prefix)+8:])))
		return len(list) < limit, nil
	})
	return list, err
}

func (t *tx) DeleteRun(ws approvals.WorkspaceID, id approvals.RunID) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	if err := t.deleteRun(ws, id); err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	return nil
}

func (t *tx) deleteRun(ws approvals.WorkspaceID, id approvals.RunID) error {
	k := key(string(ws), string(id))
	r := new(approvals.Run)
	err := t.get(bucketRuns, k, r)
	if err == nil {
		facts := factsOf(r)
		err = errors.Join(t.reindex(facts.entries(), nil), t.drop(bucketRuns, k))
		t.run, t.runRaw = runFacts{}, nil
	}
	if err != nil && !errors.Is(err, approvals.ErrNotFound) {
		return err
	}
	_, err = t.deleteState(ws, id, 0)
	return errors.Join(err, t.dropAll(bucketEffects, k, nil))
}

func (t *tx) Once(ws approvals.WorkspaceID, event string, now time.Time) (fresh bool, err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("event", string(ws), event)); err != nil {
		return false, err
	}
	k := key(string(ws), event)
	if t.has(bucketOnce, k) {
		return false, nil
	}
	return true, t.putRaw(bucketOnce, k, appendNumber(nil, instant(now)))
}

func (t *tx) Events(ws approvals.WorkspaceID, after string, limit int) (list []approvals.Event, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	prefix := key(string(ws))
	err = t.scan(bucketOnce, prefix, from(prefix, after), func(k, v []byte) (bool, error) {
		at, err := t.raw(bucketOnce, k, v)
		switch {
		case err != nil:
			return false, err
		case len(at) != numberSize:
			return false, t.damaged(fmt.Errorf("%s %q: no time", bucketOnce, k))
		}
		list = append(list, approvals.Event{Key: lastPart(k), At: timeOf(at).UTC()})
		return len(list) < limit, nil
	})
	return list, err
}

func (t *tx) DeleteEvent(ws approvals.WorkspaceID, event string) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	return t.drop(bucketOnce, key(string(ws), event))
}
