package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// everything puts one record of each kind, in a workspace that was empty.
func everything(tx approvals.Tx) error {
	_, err := tx.Once(ws, "event", now())
	return errors.Join(err,
		tx.PutRun(run("run_1", approvals.RunQueued)),
		tx.PutState(ws, "run_1", agent.Delta{Head: json.RawMessage(`{}`), Count: 1, Items: json.RawMessage(`[1]`)}),
		tx.PutRequest(request("req_1", approvals.RequestPending)),
		tx.PutEffect(effect("eff_1")),
		tx.PutAudit(entry(1)),
		tx.PutNotification(notification("ntf_1")),
		tx.AppendSession(ws, place, "run_1", json.RawMessage(`[1]`)),
		tx.Enqueue(approvals.Job{Workspace: ws, Kind: approvals.JobRun, ID: "run_1", Due: now().Add(time.Hour)}),
	)
}

// found names the kinds of records of everything that are there. Jobs have no getter.
func found(tx approvals.Tx) ([]string, error) {
	var list []string
	note := func(kind string, there bool, err error) error {
		if there && err == nil {
			list = append(list, kind)
		}
		if errors.Is(err, approvals.ErrNotFound) {
			return nil
		}
		return err
	}
	_, err1 := tx.Run(ws, "run_1")
	_, err2 := tx.ActiveRun(ws, place)
	active, err3 := tx.ActiveRuns(ws, "T1/U1", "")
	_, _, err4 := tx.State(ws, "run_1")
	_, err5 := tx.Request(ws, "req_1")
	pending, err6 := tx.PendingRequests(ws, "", 10)
	ofRun, err7 := tx.RequestsOfRun(ws, "run_1")
	_, err8 := tx.Effect(ws, "run_1", "eff_1")
	_, err9 := tx.AuditHead(ws)
	workspaces, err10 := tx.AuditWorkspaces()
	outbox, err11 := tx.Notifications(ws, place, 10)
	session, err12 := tx.Session(ws, place)
	err := errors.Join(
		note("run", true, err1), note("active run", true, err2), note("active runs", active > 0, err3),
		note("state", true, err4), note("request", true, err5), note("pending request", len(pending) > 0, err6),
		note("request of run", len(ofRun) > 0, err7), note("effect", true, err8), note("audit", true, err9),
		note("audit workspace", len(workspaces) > 0, err10), note("notification", len(outbox) > 0, err11),
		note("session", len(session) > 0, err12))
	return list, err
}

// expect checks that all of everything is there, or nothing.
func (s *suite) expect(all bool) {
	s.Helper()
	var have []string
	s.view(func(tx approvals.Tx) (err error) {
		have, err = found(tx)
		return err
	})
	if all && len(have) != 12 || !all && len(have) != 0 {
		s.Errorf("found %d of 12 kinds of records, all expected: %v: %q", len(have), all, have)
	}
}

func transactions() []promise {
	return []promise{
		{"NotFound", "callers tell what is missing from what went wrong by ErrNotFound", testNotFound},
		{"ErrorRollsBack", "a refused decision must leave no trace, and its error is what the person is told", testErrorRollsBack},
		{"PanicRollsBack", "a bug must not leave half a decision behind, nor be hidden", testPanicRollsBack},
		{"GoexitRollsBack", "a goroutine that ends within a transaction must not take the store with it", testGoexitRollsBack},
		{"ReadYourWrites", "a transaction decides on what it has just written", testReadYourWrites},
		{"ViewRefusesWrites", "a reader that writes by mistake must learn of it", testViewRefusesWrites},
		{"EndedTx", "a transaction that escaped must not read or write in somebody else's", testEndedTx},
		{"CancelledContext", "a caller that has given up must not act any more", testCancelledContext},
		{"FailuresAmongMany", "one caller's failure must not touch what others commit at the same time", testFailuresAmongMany},
		{"ManyAtOnce", "every acknowledged change counts, however many people click", testManyAtOnce},
	}
}

func testNotFound(s *suite) {
	s.expect(false)
	s.view(func(tx approvals.Tx) error {
		_, err1 := tx.Run(ws, "run_1")
		_, err2 := tx.ActiveRun(ws, place)
		_, _, err3 := tx.State(ws, "run_1")
		_, err4 := tx.Request(ws, "req_1")
		_, err5 := tx.Effect(ws, "run_1", "eff_1")
		_, err6 := tx.AuditHead(ws)
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if !errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("getter %d: %v, want ErrNotFound", i+1, err)
			}
		}
		return nil
	})
}

func testErrorRollsBack(s *suite) {
	want := fmt.Errorf("refused: %w", approvals.ErrConflict)
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		if err := everything(tx); err != nil {
			return err
		}
		return want
	})
	if err != want { // unchanged means the very same
		s.Errorf("got %v, want the closure's own error", err)
	}
	s.expect(false)
	s.update(everything) // nothing stands in the way
	s.expect(true)
}

func testPanicRollsBack(s *suite) {
	want := errors.New("boom")
	got := func() (r any) {
		defer func() { r = recover() }()
		s.store.Update(s.ctx, func(tx approvals.Tx) error {
			s.must(everything(tx))
			panic(want)
		})
		return nil
	}()
	if got != any(want) {
		s.Errorf("recovered %v, want what the closure panicked with", got)
	}
	s.expect(false)
	s.update(everything)
	s.expect(true)
}

func testGoexitRollsBack(s *suite) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.store.Update(s.ctx, func(tx approvals.Tx) error {
			if err := everything(tx); err != nil {
				s.Error(err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	await(s, "the goroutine to end", done)
	s.expect(false)
	s.update(everything)
	s.expect(true)
}

func testReadYourWrites(s *suite) {
	s.update(func(tx approvals.Tx) error {
		if err := everything(tx); err != nil {
			return err
		}
		have, err := found(tx)
		if len(have) != 12 {
			s.Errorf("the transaction sees %q", have)
		}
		return err
	})
}

// writes calls every method that writes.
func writes(tx approvals.Tx) []error {
	_, err := tx.Once(ws, "event", now())
	return []error{err,
		tx.PutRun(run("run_1", approvals.RunQueued)),
		tx.PutState(ws, "run_1", agent.Delta{Head: json.RawMessage(`{}`)}),
		tx.DeleteState(ws, "run_1"),
		tx.PutRequest(request("req_1", approvals.RequestPending)),
		tx.PutEffect(effect("eff_1")),
		tx.PutAudit(entry(1)),
		tx.PutNotification(notification("ntf_1")),
		tx.DeleteNotification(notification("ntf_1")),
		tx.AppendSession(ws, place, "run_1", json.RawMessage(`[1]`)),
		tx.Enqueue(approvals.Job{Workspace: ws, Kind: approvals.JobRun, ID: "run_1"}),
	}
}

func testViewRefusesWrites(s *suite) {
	s.view(func(tx approvals.Tx) error {
		for i, err := range writes(tx) {
			if err == nil {
				s.Errorf("write %d succeeded in a View", i+1)
			}
		}
		return nil
	})
	s.expect(false)
}

func testEndedTx(s *suite) {
	var escaped []approvals.Tx
	keep := func(tx approvals.Tx) error {
		escaped = append(escaped, tx)
		return nil
	}
	s.view(keep)
	s.update(keep)
	for _, tx := range escaped {
		for i, err := range writes(tx) {
			if err == nil {
				s.Errorf("write %d succeeded after the transaction's end", i+1)
			}
		}
		_, err := tx.Run(ws, "run_1")
		if err == nil || errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("a read after the transaction's end: %v", err)
		}
	}
	s.expect(false)
}

func testCancelledContext(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	fn := func(tx approvals.Tx) error {
		s.Error("the closure ran")
		return nil
	}
	for _, err := range []error{s.store.Update(ctx, fn), s.store.View(ctx, fn)} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("got %v, want context.Canceled", err)
		}
	}
}

func testFailuresAmongMany(s *suite) {
	const callers = 48
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			defer func() { recover() }()
			err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
				if err := tx.PutEffect(effect(fmt.Sprint(i))); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return refused
				case 2:
					panic("boom")
				}
				return nil
			})
			if i%4 == 1 && err != refused || i%4 != 1 && err != nil {
				s.Errorf("caller %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	s.view(func(tx approvals.Tx) error {
		for i := range callers {
			_, err := tx.Effect(ws, "run_1", fmt.Sprint(i))
			if kept := err == nil; kept != (i%4 == 0 || i%4 == 3) {
				s.Errorf("caller %d: kept %v", i, kept)
			}
		}
		return nil
	})
}

func testManyAtOnce(s *suite) {
	const callers, times = 8, 25
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", approvals.RunQueued)) })
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range times {
				if err := s.store.Update(s.ctx, func(tx approvals.Tx) error { return bump(tx) }); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.expectVersion(callers * times)
}

// bump reads a run and writes it back with the next version.
func bump(tx approvals.Tx) error {
	r, err := tx.Run(ws, "run_1")
	if err != nil {
		return err
	}
	r.Version++
	return tx.PutRun(r)
}

func (s *suite) expectVersion(want int64) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		r, err := tx.Run(ws, "run_1")
		if err == nil && r.Version != want {
			s.Errorf("version %d, want %d: changes were lost", r.Version, want)
		}
		return err
	})
}
