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
	if err := t.decode(bucketAudit, k, v, e); err != nil {
		return nil, err
	}
	t.auditEnd.ws, t.auditEnd.seq = ws, auditSeq(k)
	return e, nil
}

// auditSeq returns the number of an entry, which its key holds.
func auditSeq(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }

func (t *tx) PutAudit(e *approvals.AuditEntry) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("audit entry", string(e.Workspace))); err != nil {
		return err
	}
	if t.auditEnd.ws != e.Workspace {
		t.auditEnd.ws, t.auditEnd.seq = e.Workspace, 0
		if k, _ := t.last(bucketAudit, key(string(e.Workspace))); k != nil {
			t.auditEnd.seq = auditSeq(k)
		}
	}
	if e.Seq != t.auditEnd.seq+1 {
		return fmt.Errorf("put audit entry %d behind %d: %w", e.Seq, t.auditEnd.seq, approvals.ErrInvalid)
	}
	k := appendNumber(key(string(e.Workspace)), e.Seq)
	if err := t.replace(t.btx.Bucket(bucketAudit), k, nil, t.encode(k, e)); err != nil { // nothing lies behind the newest
		return fmt.Errorf("put audit entry %d: %w", e.Seq, err)
	}
	t.auditEnd.seq = e.Seq
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
