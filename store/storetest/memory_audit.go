package storetest

import (
	"slices"

	"countersign/approvals"
)

func (t *memoryTx) AppendAudit(entries ...*approvals.AuditEntry) error {
	for _, e := range entries {
		if err := identified(e.Workspace); err != nil {
			return err
		}
		if e.Workspace != entries[0].Workspace || e.Seq == 0 && e.ID == "" {
			return approvals.ErrInvalid
		}
		data, err := marshal(e)
		if err != nil {
			return err
		}
		ws, seq, id := e.Workspace, e.Seq, e.ID
		if err := t.change(func() error { return t.appendAudit(ws, seq, id, data) }); err != nil {
			return err
		}
	}
	return t.usable(true)
}

func (t *memoryTx) appendAudit(ws approvals.WorkspaceID, seq uint64, id approvals.AuditID, data []byte) error {
	if id != "" {
		known := key("audit id", ws, string(id))
		if t.root.get(known) != nil {
			return approvals.ErrInvalid
		}
		t.set(known, nil)
	}
	if seq == 0 {
		t.set(key("unsealed", ws, string(id)), data)
		return nil
	}
	return t.link(ws, seq, data)
}

// link appends an entry to the chain.
func (t *memoryTx) link(ws approvals.WorkspaceID, seq uint64, data []byte) error {
	head := uint64(0)
	if v := t.root.get(key("audit head", ws)); v != nil {
		head = look[approvals.AuditEntry](v).Seq
	}
	if seq != head+1 {
		return approvals.ErrInvalid
	}
	t.set(key("audit", ws, number(seq)), data)
	t.set(key("audit head", ws), data)
	return nil
}

func (t *memoryTx) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	return list(t, key("unsealed", ws), limit, anything[approvals.AuditEntry])
}

func (t *memoryTx) SealAudit(entries ...*approvals.AuditEntry) error {
	for _, e := range entries {
		if err := identified(e.Workspace, string(e.ID)); err != nil {
			return err
		}
		data, err := marshal(e)
		if err != nil {
			return err
		}
		ws, seq, unsealed := e.Workspace, e.Seq, key("unsealed", e.Workspace, string(e.ID))
		err = t.change(func() error {
			if t.root.get(unsealed) == nil {
				return approvals.ErrNotFound
			}
			t.remove(unsealed)
			return t.link(ws, seq, data)
		})
		if err != nil {
			return err
		}
	}
	return t.usable(true)
}

func (t *memoryTx) AuditHead(ws approvals.WorkspaceID) (*approvals.AuditEntry, error) {
	return get[approvals.AuditEntry](t, key("audit head", ws))
}

func (t *memoryTx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	if err := t.reading(); err != nil || limit <= 0 {
		return nil, err
	}
	var entries []*approvals.AuditEntry
	for _, v := range t.rows(key("audit", ws), key("audit", ws, number(seq))) {
		e, err := decode[approvals.AuditEntry](v)
		if err != nil {
			return nil, err
		}
		if entries = append(entries, e); len(entries) == limit {
			break
		}
	}
	return entries, nil
}

func (t *memoryTx) RecordedWorkspaces() ([]approvals.WorkspaceID, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	var workspaces []approvals.WorkspaceID
	for _, v := range t.rows(everywhere("request"), "") {
		workspaces = append(workspaces, look[approvals.RequestHead](v).Workspace)
	}
	for _, v := range t.rows(everywhere("grant"), "") {
		workspaces = append(workspaces, look[approvals.Grant](v).Workspace)
	}
	slices.Sort(workspaces)
	return slices.Compact(workspaces), nil
}

func (t *memoryTx) AuditWorkspaces() ([]approvals.WorkspaceID, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	var workspaces []approvals.WorkspaceID
	for _, kind := range []string{"audit head", "unsealed"} {
		for _, v := range t.rows(everywhere(kind), "") {
			workspaces = append(workspaces, look[approvals.AuditEntry](v).Workspace)
		}
	}
	slices.Sort(workspaces)
	return slices.Compact(workspaces), nil
}
