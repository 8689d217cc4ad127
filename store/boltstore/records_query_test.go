package boltstore

import (
	"fmt"
	"testing"

	"countersign/approvals"
)

// TestSettledBehindManyPending: however many newer requests wait, one call finds the settled ones behind them.
func TestSettledBehindManyPending(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	const pending, settled = 3 * queryLooks, 5
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		for i := range pending + settled {
			status := approvals.RequestApproved
			if i >= settled {
				status = approvals.RequestPending
			}
			id := approvals.RequestID(fmt.Sprintf("req_%05d", i))
			head := approvals.RequestHead{Workspace: "T1", ID: id, Run: "run_1", Status: status}
			if err := tx.PutRequest(&approvals.Request{RequestHead: head}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, newest := range []bool{true, false} {
		err := s.View(t.Context(), func(tx approvals.Tx) error {
			for _, q := range []approvals.RequestQuery{{Settled: true}, {Status: approvals.RequestApproved}} {
				q.Workspace, q.Newest, q.Limit = "T1", newest, settled
				page, _, err := tx.QueryRequests(q)
				if err != nil {
					return err
				}
				if len(page) != settled {
					t.Errorf("%+v: %d found", q, len(page))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
