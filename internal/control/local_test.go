package control

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// TestLocalPending pages through all workspaces without leaving out or repeating a request.
func TestLocalPending(t *testing.T) {
	t.Parallel()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "x.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const each = 7
	workspaces := []approvals.WorkspaceID{"T1", "T2", "T3"}
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		for _, ws := range workspaces {
			if err := tx.AppendAudit(&approvals.AuditEntry{Workspace: ws, Seq: 1, At: time.Now()}); err != nil {
				return err
			}
			for i := range each {
				r := named(approvals.RequestID(fmt.Sprintf("req_%d", i)))
				r.Workspace, r.Run, r.Status = ws, "run_1", approvals.RequestPending
				if err := tx.PutRequest(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	desk := &Local{Store: st}
	for _, limit := range []int{1, 2, 3, 7, 8, 21, 100} {
		seen := make(map[string]bool)
		var cursor Cursor
		for more := true; more; {
			var page []*approvals.Request
			if page, more, err = desk.Pending(t.Context(), cursor, limit); err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				id := string(r.Workspace) + "/" + string(r.ID)
				if seen[id] {
					t.Errorf("limit %d: %s twice", limit, id)
				}
				seen[id] = true
				cursor = CursorAt(r)
			}
		}
		if len(seen) != each*len(workspaces) {
			t.Errorf("limit %d: %d requests", limit, len(seen))
		}
	}
	if r, err := desk.Request(t.Context(), "req_3"); err != nil || r.Workspace != "T1" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := desk.Request(t.Context(), "req_absent"); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	if _, err := desk.Decide(t.Context(), approvals.Decision{}); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("decide without the right to: %v", err)
	}
	var b bytes.Buffer
	if err := desk.Backup(t.Context(), &b); err != nil || b.Len() == 0 {
		t.Errorf("backup: %d bytes, %v", b.Len(), err)
	}
}
