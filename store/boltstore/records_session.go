package boltstore

import (
	"encoding/json"
	"errors"

	"countersign/approvals"
)

func (t *tx) SessionTail(ws approvals.WorkspaceID, p approvals.Place, bytes int) (
	chunks []json.RawMessage, older int, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, 0, err
	}
	place := placeKey(ws, p)
	chunks, first, err := t.tail(bucketSessions, place, bytes, 1)
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
	if err := t.putRaw(bucketSessionKey, seen, nil); err != nil {
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
