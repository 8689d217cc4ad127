package boltstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
	"countersign/approvals"
)

func (t *tx) State(ws approvals.WorkspaceID, run approvals.RunID) (
	head json.RawMessage, chunks []json.RawMessage, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, nil, err
	}
	k := key(string(ws), string(run))
	v := t.value(bucketStates, k)
	if v == nil {
		return nil, nil, fmt.Errorf("state of run %s: %w", run, approvals.ErrNotFound)
	}
	if head, err = t.raw(bucketStates, k, v); err != nil {
		return nil, nil, err
	}
	err = t.scan(bucketChunks, k, nil, func(k, v []byte) (bool, error) {
		chunk, err := t.raw(bucketChunks, k, v)
		chunks = append(chunks, chunk)
		return true, err
	})
	if err != nil {
		return nil, nil, err
	}
	return head, chunks, nil
}

func (t *tx) StateTail(ws approvals.WorkspaceID, run approvals.RunID, bytes int) (
	chunks []json.RawMessage, older int, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, 0, err
	}
	k := key(string(ws), string(run))
	if !t.has(bucketStates, k) {
		return nil, 0, fmt.Errorf("state of run %s: %w", run, approvals.ErrNotFound)
	}
	chunks, first, err := t.tail(bucketChunks, k, bytes, 0)
	if err != nil {
		return nil, 0, err
	}
	err = t.scan(bucketChunks, k, nil, func(k, _ []byte) (bool, error) { // counts keys, and reads no value
		if first != nil && string(k) >= string(first) {
			return false, nil
		}
		older++
		return true, nil
	})
	return chunks, older, err
}

// tail returns copies of the newest values whose keys start with prefix: as many whole ones as fit into so many
// bytes, but at least so many; and the key of the oldest of them.
func (t *tx) tail(bucket, prefix []byte, size, least int) (newest []json.RawMessage, first []byte, err error) {
	b := t.btx.Bucket(bucket)
	if b == nil {
		return nil, nil, nil
	}
	c, total := b.Cursor(), 0
	for k, v := seekLast(c, prefix); k != nil; k, v = prev(c, prefix) {
		if total += len(v) - t.overhead(bucket); total > size && len(newest) >= least {
			break
		}
		value, err := t.raw(bucket, k, v)
		if err != nil {
			return nil, nil, err
		}
		newest, first = append(newest, value), append(first[:0], k...)
	}
	slices.Reverse(newest)
	return newest, first, nil
}

func (t *tx) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("state", string(ws), string(run))); err != nil {
		return err
	}
	if d.From < 0 || d.Count < 0 {
		return fmt.Errorf("put state of run %s: %d items from %d: %w", run, d.Count, d.From, approvals.ErrInvalid)
	}
	k := key(string(ws), string(run))
	if err := t.putRaw(bucketStates, k, d.Head); err != nil {
		return fmt.Errorf("put state of run %s: %w", run, err)
	}
	if d.Count == 0 {
		return nil
	}
	from := appendNumber(key(string(ws), string(run)), uint64(d.From))
	if err := t.dropAll(bucketChunks, k, from); err != nil {
		return fmt.Errorf("put state of run %s: %w", run, err)
	}
	return t.putRaw(bucketChunks, from, d.Items)
}

func (t *tx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID, limit int) (more bool, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return false, err
	}
	return t.deleteState(ws, run, limit)
}

func (t *tx) deleteState(ws approvals.WorkspaceID, run approvals.RunID, limit int) (more bool, err error) {
	k := key(string(ws), string(run))
	if err := t.drop(bucketStates, k); err != nil {
		return false, err
	}
	return t.dropSome(bucketChunks, k, nil, limit)
}
