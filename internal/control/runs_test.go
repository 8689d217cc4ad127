package control

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// fakeRuns keeps what it was asked.
type fakeRuns struct {
	RunDesk
	cancelled approvals.Cancellation
	retried   approvals.RunRetry
	run       *approvals.Run
	err       error
}

func (f *fakeRuns) CancelRun(_ context.Context, v approvals.Cancellation) (*approvals.Run, error) {
	f.cancelled = v
	return f.run, f.err
}

func (f *fakeRuns) RetryRun(_ context.Context, v approvals.RunRetry) (approvals.Receipt, error) {
	f.retried = v
	return approvals.Receipt{Run: "run_2", Outcome: approvals.SubmitQueued, Ahead: 3}, f.err
}

// TestRunsThroughSocket changes runs through the socket as at the desk, and gets facts with the words.
func TestRunsThroughSocket(t *testing.T) {
	t.Parallel()
	runs := &fakeRuns{run: &approvals.Run{ID: "run_1", Status: approvals.RunCancelled}}
	_, c := serve(t, &fakeDesk{RunDesk: runs})
	v := approvals.Cancellation{Workspace: "T1", Run: "run_1", By: "T1/U1", Reason: "no\n\"é\""}
	if r, err := c.CancelRun(t.Context(), v); err != nil || r.Status != approvals.RunCancelled || runs.cancelled != v {
		t.Errorf("%+v, %v; asked %+v", r, err, runs.cancelled)
	}
	again := approvals.RunRetry{Workspace: "T1", Run: "run_1", By: "T1/U1"}
	receipt, err := c.RetryRun(t.Context(), again)
	if err != nil || receipt.Run != "run_2" || receipt.Outcome != approvals.SubmitQueued || receipt.Ahead != 3 ||
		runs.retried != again {
		t.Errorf("%+v, %v; asked %+v", receipt, err, runs.retried)
	}
	runs.err = approvals.ErrEnded
	if r, err := c.CancelRun(t.Context(), v); !errors.Is(err, approvals.ErrEnded) || r == nil {
		t.Errorf("ended before: %+v, %v", r, err)
	}
	runs.err = fmt.Errorf("%w, as run_9", approvals.ErrRetried)
	if _, err := c.RetryRun(t.Context(), again); !errors.Is(err, approvals.ErrRetried) ||
		err.Error() != runs.err.Error() {
		t.Errorf("retried before: %v", err)
	}
}

// putRuns puts runs of three workspaces that differ in all that a query asks for.
func putRuns(t *testing.T, st approvals.Store) (all []*approvals.Run) {
	t.Helper()
	statuses := []approvals.RunStatus{approvals.RunWaiting, approvals.RunDone, approvals.RunCancelled}
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		all = nil
		for _, ws := range []approvals.WorkspaceID{"T1", "T2", "T3"} {
			if err := tx.AppendAudit(&approvals.AuditEntry{Workspace: ws, Seq: 1, At: tx.Now()}); err != nil {
				return err
			}
			for i := 11; i >= 0; i-- { // the newest first, as they are listed
				r := &approvals.Run{
					Workspace: ws, ID: approvals.RunID(fmt.Sprintf("run_%02d", i)), Status: statuses[i%3],
					Place: approvals.Place{
						Surface: "slack", Channel: fmt.Sprintf("C%d", i%4), Thread: fmt.Sprint(i),
					},
					Requester: approvals.NewUserID(ws, fmt.Sprintf("U%d", i%2)), Agent: []string{"ops", "billing"}[i/6],
					Created: time.Date(2026, 11, 1, i, 0, 0, 0, time.UTC),
				}
				if err := tx.PutRun(r); err != nil {
					return err
				}
				all = append(all, r)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listedRuns pages through what a desk lists and returns workspaces and ids.
func listedRuns(t *testing.T, desk Desk, q RunQuery, limit int) (ids []string) {
	t.Helper()
	var cursor Cursor
	for more := true; more; {
		page, next, err := desk.Runs(t.Context(), q, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, string(r.Workspace)+" "+string(r.ID))
			cursor = CursorAtRun(r)
		}
		if more = next; len(page) > limit {
			t.Errorf("a page of %d, with a limit of %d", len(page), limit)
		}
	}
	return ids
}

// TestRuns lists what a query selects, the newest first, once each, whatever the length of a page, with and without the
// socket between.
func TestRuns(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	all := putRuns(t, st)
	local := &Local{Store: st}
	_, client := serve(t, local)
	hour := func(h int) time.Time { return time.Date(2026, 11, 1, h, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		query RunQuery
		want  func(i int, r *approvals.Run) bool // i is the number of the run
	}{
		"all":     {RunQuery{}, func(int, *approvals.Run) bool { return true }},
		"waiting": {RunQuery{Status: approvals.RunWaiting}, func(i int, _ *approvals.Run) bool { return i%3 == 0 }},
		"done":    {RunQuery{Status: approvals.RunDone}, func(i int, _ *approvals.Run) bool { return i%3 == 1 }},
		"failed":  {RunQuery{Status: approvals.RunFailed}, func(int, *approvals.Run) bool { return false }},
		"person":  {RunQuery{Person: "U0"}, func(i int, _ *approvals.Run) bool { return i%2 == 0 }},
		"person of one workspace": {RunQuery{Person: "T2/U1"}, func(i int, r *approvals.Run) bool {
			return r.Workspace == "T2" && i%2 == 1
		}},
		"agent":   {RunQuery{Agent: "billing"}, func(i int, _ *approvals.Run) bool { return i >= 6 }},
		"channel": {RunQuery{Channel: "C2"}, func(i int, _ *approvals.Run) bool { return i%4 == 2 }},
		"since":   {RunQuery{Since: hour(5)}, func(i int, _ *approvals.Run) bool { return i >= 5 }},
		"until":   {RunQuery{Until: hour(5)}, func(i int, _ *approvals.Run) bool { return i < 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i, r := range all {
				if c.want(11-i%12, r) {
					want = append(want, string(r.Workspace)+" "+string(r.ID))
				}
			}
			for _, limit := range []int{1, 5, 100} {
				if diff := cmp.Diff(want, listedRuns(t, local, c.query, limit)); diff != "" {
					t.Errorf("on the store, limit %d (-want +have):\n%s", limit, diff)
				}
				if diff := cmp.Diff(want, listedRuns(t, client, c.query, limit)); diff != "" {
					t.Errorf("through the socket, limit %d (-want +have):\n%s", limit, diff)
				}
			}
		})
	}
}

// TestRunOfAnyWorkspace finds a run wherever it is, and changes nothing without the right to.
func TestRunOfAnyWorkspace(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	putRuns(t, st)
	local := &Local{Store: st}
	_, client := serve(t, local)
	for _, desk := range []Desk{local, client} {
		if r, err := desk.Run(t.Context(), "run_03"); err != nil || r.Workspace != "T1" || r.ID != "run_03" {
			t.Errorf("%T: %+v, %v", desk, r, err)
		}
		if _, err := desk.Run(t.Context(), "run_absent"); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%T, absent: %v", desk, err)
		}
		v := approvals.Cancellation{Workspace: "T1", Run: "run_03", By: "T1/U1"}
		if _, err := desk.CancelRun(t.Context(), v); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%T, cancel without the right to: %v", desk, err)
		}
		again := approvals.RunRetry{Workspace: "T1", Run: "run_02", By: "T1/U1"}
		if _, err := desk.RetryRun(t.Context(), again); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%T, retry without the right to: %v", desk, err)
		}
	}
}
