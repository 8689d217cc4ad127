package pgstore

import (
	"errors"
	"testing"

	"countersign/approvals"
)

// TestRoundTrips counts how often a decision goes to the server and back: once for each read, and once for all that it
// writes together with the commit.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	run := &approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunWaiting}
	request := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: "req_1", Run: "run_1",
		Status: approvals.RequestPending}}
	request.Arguments = []byte(`{}`)
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return errors.Join(tx.PutRun(run), tx.PutRequest(request))
	})
	if err != nil {
		t.Fatal(err)
	}
	var of *tx
	decide := func(tx *tx) error {
		of = tx
		head, err1 := tx.RequestHead("T1", "req_1")
		list, err2 := tx.RequestsOfRun("T1", "run_1")
		if err := errors.Join(err1, err2); err != nil || len(list) != 1 {
			return errors.Join(err, errors.New("no request"))
		}
		head.Status = approvals.RequestApproved
		n := &approvals.Notification{Workspace: "T1", ID: "ntf_1"}
		return errors.Join(tx.PutRequestHead(head), tx.PutRun(run),
			tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: "aud_1"},
				&approvals.AuditEntry{Workspace: "T1", ID: "aud_2"}),
			tx.PutNotification(n), tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1"}))
	}
	if err := s.update(t.Context(), decide); err != nil {
		t.Fatal(err)
	}
	if of.trips != 3 {
		t.Errorf("a decision with two reads took %d round trips, want 3", of.trips)
	}
	if err := s.run(t.Context(), false, func(tx *tx) error {
		of = tx
		_, err := tx.Run("T1", "run_1")
		return err
	}); err != nil || of.trips != 2 {
		t.Errorf("a view with one read took %d round trips, want 2: %v", of.trips, err)
	}
}
