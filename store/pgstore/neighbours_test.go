package pgstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"countersign/approvals"
)

// TestNeighbours has two people decide two requests at once, whose rows lie side by side: neither has to try again. An
// index on a column that a decision changes is the control: with it one of them has to.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"", "create index on request_heads (status)"} {
		s := openStore(t, newURL(t), Config{})
		if index != "" {
			if _, err := s.clicks.Exec(t.Context(), index); err != nil {
				t.Fatal(err)
			}
		}
		if again, want := decideAtOnce(t, s), index != ""; (again > 0) != want {
			t.Errorf("with %q: %d closures ran again", index, again)
		}
	}
}

// decideAtOnce decides two requests in transactions that have both read before either writes. It returns how often a
// closure had to run again.
func decideAtOnce(t *testing.T, s *Store) (again int) {
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		var errs []error
		for i := range 2 {
			run := approvals.RunID(fmt.Sprint("run_", i))
			r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", Run: run,
				ID: approvals.RequestID(fmt.Sprint("req_", i)), Status: approvals.RequestPending}}
			r.Arguments = []byte(`{}`)
			errs = append(errs, tx.PutRequest(r),
				tx.PutRun(&approvals.Run{Workspace: "T1", ID: run, Status: approvals.RunWaiting}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	var read, all sync.WaitGroup
	read.Add(2)
	runs := make([]int, 2)
	for i := range 2 {
		all.Go(func() {
			err := s.Update(t.Context(), func(tx approvals.Tx) error {
				head, err1 := tx.RequestHead("T1", approvals.RequestID(fmt.Sprint("req_", i)))
				run, err2 := tx.Run("T1", approvals.RunID(fmt.Sprint("run_", i)))
				if runs[i]++; runs[i] == 1 {
					read.Done()
				}
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
				read.Wait()
				head.Status, run.Status = approvals.RequestApproved, approvals.RunQueued
				id := approvals.AuditID(fmt.Sprint("aud_", i))
				return errors.Join(tx.PutRequestHead(head), tx.PutRun(run),
					tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: id}),
					tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: approvals.NotificationID(id)}))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return runs[0] + runs[1] - 2
}
