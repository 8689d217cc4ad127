package boltstore

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

func (t *tx) State(ws approvals.WorkspaceID, run approvals.RunID) (head json.RawMessage, chunks []json.RawMessage, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, nil, err
	}
	k := key(string(ws), string(run))
	v := t.btx.Bucket(bucketStates).Get(k)
	if v == nil {
		return nil, nil, fmt.Errorf("state of run %s: %w", run, approvals.ErrNotFound)
	}
	if head, err = t.raw(bucketStates, k, v); err != nil {
		return nil, nil, err
	}
	chunks, err = t.chunks(bucketChunks, k)
	return head, chunks, err
}

// chunks returns copies of all values whose keys start with prefix.
func (t *tx) chunks(bucket, prefix []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := t.scan(bucket, prefix, nil, func(k, v []byte) (bool, error) {
		chunk, err := t.raw(bucket, k, v)
		list = append(list, chunk)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
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

func (t *tx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	k := key(string(ws), string(run))
	return errors.Join(t.drop(bucketStates, k), t.dropAll(bucketChunks, k, nil))
}

// dropAll deletes the entries whose keys start with prefix, from the key from on.
func (t *tx) dropAll(bucket, prefix, from []byte) error {
	var keys [][]byte
	err := t.scan(bucket, prefix, from, func(k, _ []byte) (bool, error) {
		keys = append(keys, append([]byte(nil), k...))
		return true, nil
	})
	for _, k := range keys {
		err = errors.Join(err, t.drop(bucket, k))
	}
	return err
}
