package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"countersign/approvals"
)

func (t *tx) AuditHead(ws approvals.WorkspaceID) (e *approvals.AuditEntry, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	return t.auditHead(ws)
}

func (t *tx) auditHead(ws approvals.WorkspaceID) (*approvals.AuditEntry, error) {
	k, v := t.last(bucketAudit, key(string(ws)))
	if k == nil {
		return nil, fmt.Errorf("audit of %s: %w", ws, approvals.ErrNotFound)
	}
	e := new(approvals.AuditEntry)
	return e, t.decode(bucketAudit, k, v, e)
}

func (t *tx) PutAudit(e *approvals.AuditEntry) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("audit entry", string(e.Workspace))); err != nil {
		return err
	}
	var seq uint64 // of the newest entry, which its key holds
	if k, _ := t.last(bucketAudit, key(string(e.Workspace))); k != nil {
		seq = binary.BigEndian.Uint64(k[len(k)-8:])
	}
	if e.Seq != seq+1 {
		return fmt.Errorf("put audit entry %d behind %d: %w", e.Seq, seq, approvals.ErrInvalid)
	}
	if err := t.put(bucketAudit, appendNumber(key(string(e.Workspace)), e.Seq), e); err != nil {
		return fmt.Errorf("put audit entry %d: %w", e.Seq, err)
	}
	return nil
}

func (t *tx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) (list []*approvals.AuditEntry, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix := key(string(ws))
	from := appendNumber(bytes.Clone(prefix), seq)
	err = t.scan(bucketAudit, prefix, from, func(k, v []byte) (bool, error) {
		if len(list) >= limit {
			return false, nil
		}
		e := new(approvals.AuditEntry)
		list = append(list, e)
		return true, t.decode(bucketAudit, k, v, e)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *tx) AuditWorkspaces() (list []approvals.WorkspaceID, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	c := t.btx.Bucket(bucketAudit).Cursor()
	for k, _ := c.First(); k != nil; {
		ws, _, ok := cutPart(k)
		if !ok {
			return nil, t.damaged(fmt.Errorf("audit %q: unreadable key", k))
		}
		list = append(list, approvals.WorkspaceID(ws))
		k, _ = c.Seek(append(key(ws), bytes.Repeat([]byte{0xff}, 9)...)) // behind every number
	}
	return list, nil
}
