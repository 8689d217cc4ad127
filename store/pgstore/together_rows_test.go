package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"countersign/agent"
	"countersign/approvals"
)

// rowsBefore is what the closures of rowsOf find.
func rowsBefore(n int) func(approvals.Tx) error {
	return func(tx approvals.Tx) error {
		var all error
		for i := range n {
			run, place := runID(i), approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprint(i)}
			for start := range 4 {
				items := json.RawMessage(fmt.Sprint("[", start, "]"))
				all = errors.Join(all, tx.PutState("T1", run, agent.Delta{
					From: start, Count: 1, Head: json.RawMessage(`{}`), Items: items}))
			}
			all = errors.Join(all,
				tx.PutState("T1", "ended"+run, chunkOf(1)), tx.PutState("T1", "long"+run, chunkOf(1)),
				tx.PutState("T1", "long"+run, agent.Delta{From: 1, Count: 1, Items: json.RawMessage(`[1]`)}),
				tx.PutInput(&approvals.QueuedInput{Workspace: "T1", Place: place, ID: "inp_1"}),
				tx.PutInput(&approvals.QueuedInput{Workspace: "T1", Place: place, ID: "inp_2"}),
				tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobTimer, ID: fmt.Sprint(i)},
					approvals.Job{Workspace: "T1", Kind: approvals.JobTimer, ID: fmt.Sprint("busy", i)}))
			for range i {
				all = errors.Join(all, tx.AppendSession("T1", place, "before", json.RawMessage(`[0]`)))
			}
		}
		return all
	}
}

// rowsOf has the caller i write what a run writes from its beginning to its end.
func rowsOf(i int) func(approvals.Tx) error {
	return func(tx approvals.Tx) error {
		run, place := runID(i), approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprint(i)}
		fresh, err1 := tx.Once("T1", fmt.Sprint("event ", i), time.Unix(int64(i), 0))
		if !fresh {
			return errors.New("an event that was seen before")
		}
		more, err2 := tx.DeleteState("T1", "long"+run, 1)
		if !more {
			return errors.New("nothing is left of a long state")
		}
		more, err3 := tx.DeleteState("T1", "ended"+run, 0)
		if more {
			return errors.New("something is left of a state")
		}
		r := &approvals.Run{Workspace: "T1", ID: run, Place: place, Requester: "T1/U1", Status: approvals.RunQueued}
		q := listedRequest(approvals.RequestID(fmt.Sprint("req_", i)))
		q.Run = run
		return errors.Join(err1, err2, err3, tx.PutRun(r), tx.PutRequest(q),
			tx.PutState("T1", run, agent.Delta{From: 2, Count: 1, Head: json.RawMessage(`{"new":1}`),
				Items: json.RawMessage(`["new"]`)}),
			tx.DeleteInput(&approvals.QueuedInput{Workspace: "T1", Place: place, ID: "inp_1"}),
			tx.AppendSession("T1", place, string(run), json.RawMessage(fmt.Sprint("[", i, "]"))),
			tx.DeleteJob("T1", approvals.JobTimer, fmt.Sprint(i)),
			tx.DeleteJob("T1", approvals.JobTimer, fmt.Sprint("busy", i)))
	}
}

// dump returns what the tables hold that rowsOf writes to, without what depends on the time.
func dump(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for _, sql := range []string{
		"select id || status || convert_from(record, 'utf8') from run_records",
		"select id || thread || requester from runs_open", "select id from runs_working",
		"select id || run || status from request_heads", "select id from request_contents",
		"select id || requester from requests_pending", "select key || at from events",
		"select run || convert_from(head, 'utf8') from states",
		"select run || start || convert_from(items, 'utf8') from state_chunks", "select thread || id from inputs",
		"select thread || n || key || convert_from(items, 'utf8') from sessions",
		"select id || (due is null) || (claim_until is null) || attempts from jobs",
	} {
		rows, _ := s.clicks.Query(t.Context(), sql+" order by 1")
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(lines) == 0 {
			t.Fatalf("%s: %d rows, %v", sql, len(lines), err)
		}
		all = append(append(all, sql), lines...)
	}
	return all
}

// TestTogetherRows: what several write in one transaction is what each would have written in one of its own.
func TestTogetherRows(t *testing.T) {
	t.Parallel()
	const n = 5
	var want []string
	for _, apart := range []bool{true, false} {
		s := openStore(t, newURL(t), Config{straggling: time.Minute, apart: apart})
		err := s.Update(t.Context(), rowsBefore(n))
		if err == nil {
			_, err = s.clicks.Exec(t.Context(),
				"update jobs set claim_until = now() + interval '1 minute' where id like 'busy%'")
		}
		if err != nil {
			t.Fatal(err)
		}
		var numbers sync.Map
		fn := func(i int) func(*tx) error {
			return func(tx *tx) error {
				tx.Now()
				numbers.Store(tx.id, true)
				return rowsOf(i)(tx)
			}
		}
		if apart {
			for i := range n {
				if err := s.update(t.Context(), fn(i)); err != nil {
					t.Fatal(err)
				}
			}
			want = dump(t, s)
			continue
		}
		err = errors.Join(sharing(t, s, n, fn)...)
		transactions := 0
		numbers.Range(func(_, _ any) bool { transactions++; return true })
		if err != nil || transactions != 1 {
			t.Errorf("%d transactions: %v", transactions, err)
		}
		if diff := cmp.Diff(want, dump(t, s)); diff != "" {
			t.Errorf("apart (-), together (+):\n%s", diff)
		}
	}
}

// TestTogetherOnce: of two that record the same event, in one process or in two, one is told that it is new.
func TestTogetherOnce(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	here, there := openStore(t, url, Config{straggling: time.Minute}), openStore(t, url, Config{})
	var fresh [3]bool
	once := func(i int, tx approvals.Tx) (err error) {
		fresh[i], err = tx.Once("T1", "event", tx.Now())
		return err
	}
	first := true
	errs := sharing(t, here, 2, func(i int) func(*tx) error {
		return func(tx *tx) error {
			err := once(i, tx)
			if i == 0 && first { // in the middle of it, another process
				first = false
				err = errors.Join(err, there.Update(context.WithoutCancel(t.Context()), func(other approvals.Tx) error {
					return once(2, other)
				}))
			}
			return err
		}
	})
	if err := errors.Join(errs...); err != nil || fresh != [3]bool{false, false, true} {
		t.Errorf("who was told that the event is new: %v; %v", fresh, err)
	}
}

// TestTogetherOnceBefore: events that were recorded before are new to nobody who shares a transaction, others are.
func TestTogetherOnceBefore(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		_, err := tx.Once("T1", "event 0", tx.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var fresh [2]bool
	var together atomic.Int64
	errs := sharing(t, s, 2, func(i int) func(*tx) error {
		return func(tx *tx) (err error) {
			if tx.shared != nil {
				together.Add(1)
			}
			fresh[i], err = tx.Once("T1", fmt.Sprint("event ", i), tx.Now())
			return err
		}
	})
	if err := errors.Join(errs...); err != nil || fresh != [2]bool{false, true} {
		t.Errorf("who was told that the event is new: %v; %v", fresh, err)
	}
	if together.Load() != 2 {
		t.Errorf("control: %d of two shared a transaction", together.Load())
	}
}
