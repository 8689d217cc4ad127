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
	if err := t.get(bucketRuns, key(string(ws), string(id)), r); err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	t.run = factsOf(r)
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
	b := t.btx.Bucket(bucketRuns)
	old := b.Get(k)
	was, is := t.run, factsOf(r)
	if was.ws != is.ws || was.id != is.id {
		was = runFacts{ended: true}
		if old != nil {
			stored := new(approvals.Run)
			if err := t.decode(bucketRuns, k, old, stored); err != nil {
				return err
			}
			was = factsOf(stored)
		}
	}
	if err := t.replace(b, k, old, t.encode(k, r)); err != nil {
		return err
	}
	t.run = is
	if was == is {
		return nil
	}
	return t.reindex(was.entries(), is.entries())
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

func (t *tx) has(bucket, k []byte) bool { return t.btx.Bucket(bucket).Get(k) != nil }

// indexed reads the record that an index names; that it is missing means damage.
func (t *tx) indexed(bucket, k []byte, record any) error {
	err := t.get(bucket, k, record)
	if errors.Is(err, approvals.ErrNotFound) {
		return t.damaged(fmt.Errorf("%s %q is in an index but missing", bucket, k))
	}
	return err
}
