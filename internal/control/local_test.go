package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// newStore returns a store of its own.
func newStore(t *testing.T) *boltstore.Store {
	t.Helper()
	st, err := boltstore.Open(filepath.Join(t.TempDir(), "x.db"), boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// newTestRequests are requests of three workspaces that differ in all that a query asks for.
func newTestRequests() (all []*approvals.Request) {
	statuses := []approvals.RequestStatus{
		approvals.RequestPending, approvals.RequestApproved, approvals.RequestRejected,
	}
	for _, ws := range []approvals.WorkspaceID{"T1", "T2", "T3"} {
		for i := range 12 {
			r := named(approvals.RequestID(fmt.Sprintf("req_%02d", i)))
			r.Workspace, r.Status = ws, statuses[i%3]
			r.Run = approvals.RunID(fmt.Sprintf("run_%d", i/4))
			r.Requester = approvals.NewUserID(ws, fmt.Sprintf("U%d", i%2))
			r.Tool.Name, r.Agent = []string{"pay", "look"}[i%2], []string{"ops", "billing"}[i/6]
			r.Place = approvals.Place{Surface: "slack", Channel: fmt.Sprintf("C%d", i%4), Thread: "1"}
			r.Created = time.Date(2026, 11, 1, i, 0, 0, 0, time.UTC)
			if i == 7 {
				r.Decisions = []approvals.Decision{{By: approvals.NewUserID(ws, "U0"), Verdict: approvals.Approve}}
			}
			all = append(all, r)
		}
	}
	return all
}

func putRequests(t *testing.T, st approvals.Store, all []*approvals.Request) {
	t.Helper()
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		seen := make(map[approvals.WorkspaceID]bool)
		for _, r := range all {
			if !seen[r.Workspace] {
				seen[r.Workspace] = true
				err := tx.AppendAudit(&approvals.AuditEntry{Workspace: r.Workspace, Seq: 1, At: r.Created})
				if err != nil {
					return err
				}
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// listed pages through what a desk lists and returns workspaces and ids.
func listed(t *testing.T, desk Desk, q Query, limit int) (ids []string) {
	t.Helper()
	var cursor Cursor
	for more := true; more; {
		page, next, err := desk.Requests(t.Context(), q, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, string(r.Workspace)+" "+string(r.ID))
			cursor = CursorAt(r)
		}
		if more = next; len(page) > limit {
			t.Errorf("a page of %d, with a limit of %d", len(page), limit)
		}
	}
	return ids
}

// TestRequests lists what a query selects, in order, once each, whatever the length of a page, with and without the
// socket between.
func TestRequests(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	all := newTestRequests()
	putRequests(t, st, all)
	local := &Local{Store: st}
	_, client := serve(t, local)
	hour := func(h int) time.Time { return time.Date(2026, 11, 1, h, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		query Query
		want  func(i int, r *approvals.Request) bool // i counts in the workspace
	}{
		"all": {Query{}, func(int, *approvals.Request) bool { return true }},
		"pending": {Query{Status: approvals.RequestPending},
			func(i int, _ *approvals.Request) bool { return i%3 == 0 }},
		"approved": {Query{Status: approvals.RequestApproved},
			func(i int, _ *approvals.Request) bool { return i%3 == 1 }},
		"stale":  {Query{Status: approvals.RequestStale}, func(int, *approvals.Request) bool { return false }},
		"person": {Query{Person: "U0"}, func(i int, _ *approvals.Request) bool { return i%2 == 0 || i == 7 }},
		"person of one workspace": {Query{Person: "T2/U1"}, func(i int, r *approvals.Request) bool {
			return r.Workspace == "T2" && i%2 == 1
		}},
		"tool":    {Query{Tool: "pay"}, func(i int, _ *approvals.Request) bool { return i%2 == 0 }},
		"agent":   {Query{Agent: "billing"}, func(i int, _ *approvals.Request) bool { return i >= 6 }},
		"channel": {Query{Channel: "C2"}, func(i int, _ *approvals.Request) bool { return i%4 == 2 }},
		"run":     {Query{Run: "run_1"}, func(i int, _ *approvals.Request) bool { return i/4 == 1 }},
		"since":   {Query{Since: hour(5)}, func(i int, _ *approvals.Request) bool { return i >= 5 }},
		"until":   {Query{Until: hour(5)}, func(i int, _ *approvals.Request) bool { return i < 5 }},
		"several": {Query{Status: approvals.RequestRejected, Tool: "look", Since: hour(3), Until: hour(11)},
			func(i int, _ *approvals.Request) bool { return i == 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i, r := range all {
				if c.want(i%12, r) {
					want = append(want, string(r.Workspace)+" "+string(r.ID))
				}
			}
			for _, limit := range []int{1, 2, 3, 7, 12, 36, 100} {
				if diff := cmp.Diff(want, listed(t, local, c.query, limit)); diff != "" {
					t.Errorf("on the store, limit %d (-want +have):\n%s", limit, diff)
				}
				if diff := cmp.Diff(want, listed(t, client, c.query, limit)); diff != "" {
					t.Errorf("through the socket, limit %d (-want +have):\n%s", limit, diff)
				}
			}
		})
	}
}

// TestRequestsReadsNoContents: the arguments of calls that are not shown are not read.
func TestRequestsReadsNoContents(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	putRequests(t, st, newTestRequests())
	desk := &Local{Store: headsOnly{st}}
	if got := listed(t, desk, Query{}, 5); len(got) != 36 {
		t.Errorf("%d requests", len(got))
	}
	if _, err := desk.Request(t.Context(), "req_01"); !errors.Is(err, errContents) { // the control
		t.Errorf("%v", err)
	}
}

var errContents = errors.New("contents were read")

// headsOnly is a store that hands out no contents of requests.
type headsOnly struct{ approvals.Store }

func (s headsOnly) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.View(ctx, func(tx approvals.Tx) error { return fn(headsOnlyTx{tx}) })
}

type headsOnlyTx struct{ approvals.Tx }

func (headsOnlyTx) Request(approvals.WorkspaceID, approvals.RequestID) (*approvals.Request, error) {
	return nil, errContents
}

func (headsOnlyTx) Requests(approvals.WorkspaceID, []approvals.RequestID) ([]*approvals.Request, error) {
	return nil, errContents
}

// TestLocal finds a request in any workspace, and decides nothing without the right to.
func TestLocal(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	putRequests(t, st, newTestRequests())
	desk := &Local{Store: st}
	if r, err := desk.Request(t.Context(), "req_03"); err != nil || r.Workspace != "T1" {
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
