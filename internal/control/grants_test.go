package control

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// TestGrantsThroughSocket gets the same through the socket as from the desk, and facts with it.
func TestGrantsThroughSocket(t *testing.T) {
	t.Parallel()
	view := &approvals.GrantView{
		Grant: approvals.Grant{
			Workspace: "T1", ID: "grant_1", Scope: approvals.ScopeThread, Created: time.Unix(1, 0).UTC(),
			Condition: []approvals.ArgumentBound{
				{Pointer: "/to", Equal: json.RawMessage(`"<a>"`)}, {Pointer: "/memo", Absent: true},
			},
		},
		State: approvals.GrantInert, Why: "the tool was changed",
	}
	desk := &fakeDesk{grants: []*approvals.GrantView{view}}
	_, c := serve(t, desk)
	page, more, err := c.Grants(t.Context(), Cursor{}, 5)
	if diff := cmp.Diff(desk.grants, page); diff != "" || !more || err != nil {
		t.Errorf("%v, more %t (-want +have):\n%s", err, more, diff)
	}
	g, err := c.RevokeGrant(t.Context(), "grant_1", "too wide")
	if err != nil || g.ID != "grant_1" || g.RevokedReason != "too wide" {
		t.Errorf("%+v, %v", g, err)
	}
	desk.err = approvals.ErrConflict
	if g, err := c.RevokeGrant(t.Context(), "grant_1", ""); !errors.Is(err, approvals.ErrConflict) || g == nil {
		t.Errorf("revoked before: %v, %v", g, err)
	}
	desk.err = approvals.ErrLimit
	if _, _, err := c.Grants(t.Context(), Cursor{}, 5); !errors.Is(err, approvals.ErrLimit) {
		t.Errorf("have %v, want ErrLimit", err)
	}
}

// TestGrantsOfAllWorkspaces lists the grants of several workspaces page by page, and revokes one wherever it is.
func TestGrantsOfAllWorkspaces(t *testing.T) {
	t.Parallel()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "x.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	desk := &Local{Store: st}
	t.Cleanup(func() { desk.Close() })
	const each = 120
	err = st.Update(t.Context(), func(tx approvals.Tx) error {
		for _, ws := range []approvals.WorkspaceID{"T1", "T2"} {
			err := tx.AppendAudit(&approvals.AuditEntry{Workspace: ws, Seq: 1, At: tx.Now()})
			for i := range each {
				id := approvals.NewGrantID(tx.Now().Add(time.Duration(i) * time.Microsecond))
				err = errors.Join(err, tx.PutGrant(&approvals.Grant{
					Workspace: ws, ID: id, Tool: "pay", Agent: "ops", Expires: tx.Now().Add(time.Hour),
				}))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[approvals.GrantID]bool{}
	var last *approvals.GrantView
	for more, after := true, (Cursor{}); more; {
		var page []*approvals.GrantView
		if page, more, err = desk.Grants(t.Context(), after, 70); err != nil {
			t.Fatal(err)
		}
		for _, g := range page {
			if seen[g.ID] || g.State != approvals.GrantActive {
				t.Errorf("%s again, or %s", g.ID, g.State)
			}
			seen[g.ID], last, after = true, g, CursorAtGrant(g)
		}
	}
	if len(seen) != 2*each {
		t.Errorf("%d grants listed, want %d", len(seen), 2*each)
	}
	if g, err := desk.RevokeGrant(t.Context(), last.ID, ""); err != nil || g.Workspace != "T2" || g.Revoked.IsZero() {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := desk.RevokeGrant(t.Context(), "grant_none", ""); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("have %v, want ErrNotFound", err)
	}
}
