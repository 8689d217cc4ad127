package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"countersign/approvals"
)

func transactions() []promise {
	return []promise{
		{"NotFound", "callers tell what is missing from what went wrong by ErrNotFound", testNotFound},
		{"ErrorRollsBack", "a refused decision must leave no trace, and its error is what the person is told",
			testErrorRollsBack},
		{"PanicRollsBack", "a bug must not leave half a decision behind, nor be hidden", testPanicRollsBack},
		{"GoexitRollsBack", "a goroutine that ends within a transaction must not take the store with it",
			testGoexitRollsBack},
		{"ReadYourWrites", "a transaction decides on what it has just written", testReadYourWrites},
		{"ViewRefusesWrites", "a reader that writes by mistake must learn of it", testViewRefusesWrites},
		{"EndedTx", "a transaction that escaped must not read or write in somebody else's", testEndedTx},
		{"CancelledContext", "a caller that has given up must not act any more", testCancelledContext},
		{"CancelledScan", "a long list for somebody who has gone away must not go on", testCancelledScan},
		{"CancelledCommit",
			"somebody who gave up in the middle is told the truth about what was done", testCancelledCommit},
		{"FailuresAmongMany", "one caller's failure must not touch what others commit at the same time",
			testFailuresAmongMany},
		{"ManyAtOnce", "every acknowledged change counts, however many people click", testManyAtOnce},
	}
}

func testNotFound(s *suite) {
	s.expect(false)
	s.view(func(tx approvals.Tx) error {
		_, err1 := tx.Run(ws, "run_1")
		_, err2 := tx.ActiveRun(ws, place)
		_, _, err3 := tx.State(ws, "run_1")
		_, _, err4 := tx.StateTail(ws, "run_1", 1000)
		_, err5 := tx.Request(ws, "req_1")
		_, err6 := tx.RequestHead(ws, "req_1")
		_, err7 := tx.Effect(ws, "run_1", "eff_1")
		_, err8 := tx.AuditHead(ws)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
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
		_, missing, err := found(tx, ws)
		if len(missing) > 0 {
			s.Errorf("the transaction does not see: %q", missing)
		}
		return err
	})
}

func testViewRefusesWrites(s *suite) {
	for _, full := range []bool{false, true} {
		s.view(func(tx approvals.Tx) error {
			for _, w := range writes(tx) {
				if w.call() == nil {
					s.Errorf("%s succeeded in a View", w.name)
				}
			}
			return nil
		})
		s.expect(full)
		if !full {
			s.update(everything)
		}
	}
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
		for _, w := range writes(tx) {
			if w.call() == nil {
				s.Errorf("%s succeeded after the transaction's end", w.name)
			}
		}
		for _, f := range finders(tx, ws) {
			if _, err := f.there(); err == nil || errors.Is(err, approvals.ErrNotFound) {
				s.Errorf("looking for %s after the transaction's end: %v", f.kind, err)
			}
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

func testCancelledScan(s *suite) {
	const many = 3000
	s.putMany("req", many, approvals.RequestApproved)
	s.appendMany(many)
	scans := map[string]func(tx approvals.Tx) error{
		"audit entries": func(tx approvals.Tx) error {
			_, err := tx.AuditEntries(ws, 1, many)
			return err
		},
		"requests": func(tx approvals.Tx) error {
			q := approvals.RequestQuery{Workspace: ws, Tool: "none", Limit: 10}
			for {
				_, next, err := tx.QueryRequests(q)
				if err != nil || next == "" {
					return err
				}
				q.After = next
			}
		},
		"requests of a run": func(tx approvals.Tx) error {
			_, err := tx.RequestsOfRun(ws, "run_1")
			return err
		},
		"requests of runs": func(tx approvals.Tx) error {
			_, err := tx.RequestsOfRuns(ws, []approvals.RunID{"run_1", "run_2"})
			return err
		},
	}
	for what, scan := range scans {
		for _, transact := range []func(context.Context, func(approvals.Tx) error) error{s.store.View, s.store.Update} {
			ctx, cancel := context.WithCancel(s.ctx)
			transact(ctx, func(tx approvals.Tx) error {
				cancel()
				err := scan(tx)
				if !errors.Is(err, context.Canceled) {
					s.Errorf("%s: %v, want context.Canceled", what, err)
				}
				return err
			})
			cancel()
		}
	}
}

func testCancelledCommit(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	told := s.store.Update(ctx, func(tx approvals.Tx) error {
		err := everything(tx)
		cancel()
		return err
	})
	if errors.Is(told, approvals.ErrCommitUnknown) {
		return // it does not say
	}
	if told != nil && !errors.Is(told, context.Canceled) {
		s.Errorf("update: %v, want context.Canceled or nil", told)
	}
	s.expect(told == nil)
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
