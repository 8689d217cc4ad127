package boltstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"countersign/approvals"
)

func (t *tx) Session(ws approvals.WorkspaceID, p approvals.Place) (chunks []json.RawMessage, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	return t.chunks(bucketSessions, placeKey(ws, p))
}

func (t *tx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, name string, items json.RawMessage) (err error) {
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
		next = binary.BigEndian.Uint64(k[len(place):]) + 1
	}
	if err := t.putRaw(bucketSessionKey, seen, nil); err != nil {
		return err
	}
	return t.putRaw(bucketSessions, appendNumber(place, next), items)
}
