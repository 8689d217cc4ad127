package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"countersign/approvals"
)

// Sealed entries are kept by their place in the chain, unsealed ones by their ID. The IDs of entries that were appended
// unsealed are kept for good, so that a transaction which is repeated cannot append its entries twice.

func (t *tx) AppendAudit(entries ...*approvals.AuditEntry) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	for _, e := range entries {
		if err := identified("audit entry", string(e.Workspace)); err != nil {
			return err
		}
		if e.Workspace != entries[0].Workspace {
			return fmt.Errorf("append audit entries of %s and %s: %w",
				entries[0].Workspace, e.Workspace, approvals.ErrInvalid)
		}
		if e.Seq == 0 {
			err = t.appendUnsealed(e)
		} else {
			err = t.appendSealed(e)
		}
		if err != nil {
			return fmt.Errorf("append audit entry %d %s: %w", e.Seq, e.ID, err)
		}
	}
	return nil
}

func (t *tx) appendUnsealed(e *approvals.AuditEntry) error {
	k := key(string(e.Workspace), string(e.ID))
	if e.ID == "" || t.has(bucketAuditIDs, k) {
		return approvals.ErrInvalid
	}
	known, err := t.inChain(e.Workspace, e.ID)
	if err != nil {
		return err
	}
	if known {
		return approvals.ErrInvalid
	}
	return errors.Join(t.mark(bucketAuditIDs, k), t.put(bucketUnsealed, k, e))
}

// inChain reports whether the chain has an entry with the ID. It reads all of the chain, which costs nobody anything:
// where one process alone works on a store, as here, entries are sealed when they are appended.
func (t *tx) inChain(ws approvals.WorkspaceID, id approvals.AuditID) (found bool, err error) {
	err = t.scan(bucketAudit, key(string(ws)), nil, func(k, v []byte) (bool, error) {
		e := new(approvals.AuditEntry)
		err := t.decode(bucketAudit, k, v, e)
		found = e.ID == id
		return !found, err
	})
	return found, err
}

// appendSealed puts e at the end of the chain, where it must belong.
func (t *tx) appendSealed(e *approvals.AuditEntry) error {
	if t.auditEnd.ws != e.Workspace {
		t.auditEnd.ws, t.auditEnd.seq = e.Workspace, 0
		if k, _ := t.last(bucketAudit, key(string(e.Workspace))); k != nil {
			t.auditEnd.seq = auditSeq(k)
		}
	}
	if e.Seq != t.auditEnd.seq+1 {
		return fmt.Errorf("it does not follow entry %d: %w", t.auditEnd.seq, approvals.ErrInvalid)
	}
	k := appendNumber(key(string(e.Workspace)), e.Seq)
	// The bucket holds nothing behind the newest entry.
	if err := t.replace(t.bucket(bucketAudit), k, nil, t.encode(bucketAudit, k, e)); err != nil {
		return err
	}
	t.auditEnd.seq = e.Seq
	return nil
}

func (t *tx) UnsealedAudit(ws approvals.WorkspaceID, limit int) (list []*approvals.AuditEntry, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = collect(t, &list, bucketUnsealed, key(string(ws)), nil, limit)
	return list, err
}

func (t *tx) SealAudit(entries ...*approvals.AuditEntry) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	for _, e := range entries {
		if err := identified("audit entry", string(e.Workspace), string(e.ID)); err != nil {
			return err
		}
		k := key(string(e.Workspace), string(e.ID))
		if !t.has(bucketUnsealed, k) {
			return fmt.Errorf("seal audit entry %s: %w", e.ID, approvals.ErrNotFound)
		}
		if err := errors.Join(t.drop(bucketUnsealed, k), t.appendSealed(e)); err != nil {
			return fmt.Errorf("seal audit entry %d %s: %w", e.Seq, e.ID, err)
		}
	}
	return nil
}

func (t *tx) AuditHead(ws approvals.WorkspaceID) (e *approvals.AuditEntry, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	k, v := t.last(bucketAudit, key(string(ws)))
	if k == nil {
		return nil, fmt.Errorf("audit of %s: %w", ws, approvals.ErrNotFound)
	}
	e = new(approvals.AuditEntry)
	if err := t.decode(bucketAudit, k, v, e); err != nil {
		return nil, err
	}
	if t.write {
		t.auditEnd.ws, t.auditEnd.seq = ws, auditSeq(k)
	}
	return e, nil
}

// auditSeq returns the number of an entry, which its key ends with.
func auditSeq(k []byte) uint64 { return number(k[len(k)-8:]) }

func (t *tx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) (list []*approvals.AuditEntry, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix := key(string(ws))
	err = collect(t, &list, bucketAudit, prefix, appendNumber(bytes.Clone(prefix), seq), limit)
	return list, err
}

func (t *tx) AuditWorkspaces() (list []approvals.WorkspaceID, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	return t.workspacesOf(bucketAudit, bucketUnsealed)
}

func (t *tx) RecordedWorkspaces() (list []approvals.WorkspaceID, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	return t.workspacesOf(bucketRequests, bucketGrants)
}

// workspacesOf lists the workspaces that have a record in one of the buckets.
func (t *tx) workspacesOf(buckets ...[]byte) (list []approvals.WorkspaceID, err error) {
	for _, bucket := range buckets {
		err := t.eachWorkspace(bucket, func(ws string) (bool, error) {
			list = append(list, approvals.WorkspaceID(ws))
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
