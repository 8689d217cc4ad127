package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/approvals"
)

// TestNothingIsLockedBeforeTheCommit: a transaction that has read nothing begins on the server before it writes, and
// holds no lock while it waits for its caller: one that stands still would keep others from the rows.
func TestNothingIsLockedBeforeTheCommit(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	write := writeEffect("1")
	err := s.update(t.Context(), func(tx *tx) error {
		if err := write(tx); err != nil || tx.Now().IsZero() || tx.id == "" {
			return errors.Join(err, errors.New("it has not begun"))
		}
		if len(tx.waiting) == 0 {
			t.Error("what it writes was sent while the closure runs")
		}
		return nil
	})
	if err != nil || !hasEffect(t, s, "1") {
		t.Errorf("not written: %v", err)
	}
	// Somebody else holds the row: only the trip of the commit waits for it.
	other, err := s.work.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(t.Context())
	if _, err := other.Exec(t.Context(), "delete from effects"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var of *tx
	err = s.update(ctx, func(tx *tx) error {
		of = tx
		return write(tx)
	})
	if err == nil || of.trips != 2 {
		t.Errorf("it was told %v after %d round trips, want an error after 2", err, of.trips)
	}
}

// TestFrozenTransactionIsEnded has a transaction that has locked a row stand still, as in a process that is frozen: the
// server ends it, when its claims of jobs end as well, and others have the row. When it goes on it has changed nothing,
// and runs again. The server is told to wait for a shorter time here.
func TestFrozenTransactionIsEnded(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openStore(t, url, Config{})
	var waits time.Duration
	sql := "select extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval)::float8 * 1e9"
	if err := s.work.QueryRow(t.Context(), sql).Scan(&waits); err != nil || waits <= 0 || waits > claimLease {
		t.Errorf("what is locked stays so for %v, %v; claims end after %v", waits, err, claimLease)
	}
	frozen := openStore(t, url+"&idle_in_transaction_session_timeout=1s", Config{})
	stands, goesOn := make(chan bool, 1), make(chan bool)
	wrote := make(chan error, 1)
	attempts := 0
	go func() {
		wrote <- frozen.Update(t.Context(), func(tx approvals.Tx) error {
			if err := writeEffect("1")(tx); err != nil {
				return err
			}
			_, err := tx.Effect("T1", "run_1", "1") // what was written went along
			if attempts++; attempts == 1 {
				stands <- true
				select {
				case <-goesOn:
				case <-t.Context().Done():
				}
			}
			return err
		})
	}()
	await(t, "the transaction to stand still", stands)
	if err := s.Update(t.Context(), writeEffect("1")); err != nil {
		t.Errorf("the row is still locked: %v", err)
	}
	close(goesOn)
	if err := await(t, "it to go on", wrote); err != nil || attempts < 2 {
		t.Errorf("it was told %v after %d attempts", err, attempts)
	}
}

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
