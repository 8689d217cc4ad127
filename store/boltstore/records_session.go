package boltstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

func (t *tx) SessionTail(ws approvals.WorkspaceID, p approvals.Place, size int) (
	chunks []json.RawMessage, older int, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, 0, err
	}
	place := placeKey(ws, p)
	chunks, first, err := t.tail(bucketSessions, place, size, 1)
	if err != nil || first == nil {
		return nil, 0, err
	}
	return chunks, int(number(first[len(place):])), nil // they are numbered from 0, without gaps
}

func (t *tx) AppendSession(
	ws approvals.WorkspaceID, p approvals.Place, name string, items json.RawMessage,
) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("session", string(ws), name)); err != nil {
		return err
	}
	place := placeKey(ws, p)
	seen := appendPart(placeKey(ws, p), name)
	if t.has(bucketSessionKey, seen) {
		return nil
	}
	var next uint64
	if k, _ := t.last(bucketSessions, place); k != nil {
		next = number(k[len(place):]) + 1
	}
	if err := t.putRaw(bucketSessionKey, seen, appendNumber(nil, instant(t.now))); err != nil {
		return err
	}
	return t.putRaw(bucketSessions, appendNumber(place, next), items)
}

func (t *tx) DeleteSession(ws approvals.WorkspaceID, p approvals.Place) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	place := placeKey(ws, p)
	return errors.Join(t.dropAll(bucketSessions, place, nil), t.dropAll(bucketSessionKey, place, nil))
}

func (t *tx) Sessions(ws approvals.WorkspaceID, after approvals.Place, limit int) (list []approvals.Place, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	prefix := key(string(ws))
	next := prefix
	if after != (approvals.Place{}) {
		next = behind(placeKey(ws, after))
	}
	for len(list) < limit {
		k := t.seek(bucketSessions, next)
		if !bytes.HasPrefix(k, prefix) {
			break
		}
		place, ok := placeOf(k[len(prefix):])
		if !ok {
			return nil, t.damaged(fmt.Errorf("%s %q: unreadable key", bucketSessions, k))
		}
		list, next = append(list, place), behind(placeKey(ws, place))
	}
	return list, t.cancelled()
}

// placeOf reads the place that a key names behind its workspace.
func placeOf(k []byte) (p approvals.Place, ok bool) {
	for _, part := range []*string{&p.Surface, &p.Channel, &p.Thread} {
		if *part, k, ok = cutPart(k); !ok {
			return p, false
		}
	}
	return p, true
}

func (t *tx) SessionAppended(ws approvals.WorkspaceID, p approvals.Place) (newest time.Time, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return newest, err
	}
	found := false
	err = t.scan(bucketSessionKey, placeKey(ws, p), nil, func(k, v []byte) (bool, error) {
		found = true
		at, err := t.raw(bucketSessionKey, k, v)
		if err != nil {
			return false, err
		}
		if len(at) == numberSize && timeOf(at).After(newest) { // earlier versions wrote nothing
			newest = timeOf(at).UTC()
		}
		return true, nil
	})
	if err == nil && !found {
		err = fmt.Errorf("session of %s: %w", p.Channel, approvals.ErrNotFound)
	}
	return newest, err
}
