package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	once := approvals.WithOneRead(t.Context(), true)
	if err := s.run(once, false, func(tx *tx) error {
		of = tx
		_, err := tx.Run("T1", "run_1")
		return err
	}); err != nil || of.trips != 1 {
		t.Errorf("a view that reads once took %d round trips, want 1: %v", of.trips, err)
	}
}

// TestOneReadTogether: views that read once share one round trip, and one that reads again after all is run once more,
// alone of them.
func TestOneReadTogether(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	putRuns(t, s, "run_1", "run_2")
	for _, c := range []struct {
		name  string
		once  bool
		trips int
		runs  []int // how often each closure ran
	}{
		{"marked", true, 1, []int{1, 2, 1}},
		{"one of them is not", false, 3, []int{1, 1, 1}}, // another trip for the second read, and one for the commit
	} {
		runs, of := make([]int, 3), make([]*tx, 3)
		errs := withQueueHeld(s.queue(t.Context(), false), 3, func(i int) error {
			ctx := approvals.WithOneRead(t.Context(), c.once || i > 0)
			return s.run(ctx, false, func(tx *tx) error {
				runs[i]++
				of[i] = tx
				if i == 2 {
					if tx.Now().IsZero() {
						return errors.New("it is no time")
					}
					return nil
				}
				_, err1 := tx.Run("T1", "run_1")
				if i == 0 {
					return err1
				}
				_, err2 := tx.Run("T1", "run_2")
				return errors.Join(err1, err2)
			})
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := of[0].shared.b.base.trips; n != c.trips || !slices.Equal(runs, c.runs) {
			t.Errorf("%s: %d round trips and closures run %v times, want %d and %v", c.name, n, runs, c.trips, c.runs)
		}
	}
}

// TestDecidedColumns: the columns beside a request's record follow from it, also those that a decision leaves alone.
func TestDecidedColumns(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	request := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: "req_1", Run: "run_1",
		Status: approvals.RequestPending, Requester: "T1/U1", Created: time.Unix(1, 0).UTC()}}
	request.Arguments = []byte(`{}`)
	if err := s.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutRequest(request) }); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*approvals.RequestHead){
		"what a decision changes": func(r *approvals.RequestHead) {
			r.Status, r.Outcome = approvals.RequestApproved, approvals.OutcomeRan
			r.Settled, r.Expires = time.Unix(5, 0).UTC(), time.Unix(6, 0).UTC()
			r.Decisions = []approvals.Decision{{ID: "dec_1", By: "T1/U2", Verdict: approvals.Approve}}
		},
		"run":       func(r *approvals.RequestHead) { r.Run = "run_2" },
		"channel":   func(r *approvals.RequestHead) { r.Place.Channel = "C2" },
		"agent":     func(r *approvals.RequestHead) { r.Agent = "other" },
		"tool":      func(r *approvals.RequestHead) { r.Tool.Name = "other" },
		"kind":      func(r *approvals.RequestHead) { r.Kind = "other" },
		"requester": func(r *approvals.RequestHead) { r.Requester = "T1/U3" },
		"digest":    func(r *approvals.RequestHead) { r.Digest[0]++ },
		"created":   func(r *approvals.RequestHead) { r.Created = time.Unix(2, 0).UTC() },
	} {
		var want []any
		err := s.update(t.Context(), func(tx *tx) error {
			r, err := tx.RequestHead("T1", "req_1")
			if err != nil {
				return err
			}
			change(r)
			if want, err = tx.headRow(r); err != nil {
				return err
			}
			return tx.PutRequestHead(r)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var same bool
		columns, numbers := columnsFrom(headColumns), make([]string, len(headColumns))
		for i, c := range columns {
			numbers[i] = fmt.Sprintf("%s is not distinct from $%d::%s%s", c.name, i+1, c.sent, c.cast)
		}
		sql := "select " + strings.Join(numbers, " and ") + " from request_heads"
		if err := s.work.QueryRow(t.Context(), sql, want...).Scan(&same); err != nil || !same {
			t.Errorf("%s: the columns are not those of the record: %v", name, err)
		}
	}
}
