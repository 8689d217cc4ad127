package storetest

import (
	"context"
	"errors"

	"countersign/approvals"
)

func lifecycle() []promise {
	return []promise{
		{"Reopen", "what was acknowledged is there after a restart", testReopen},
		{"Closed", "a late caller is told, and does not crash the program", testClosed},
		{"CloseWaits", "a decision that is being recorded is recorded", testCloseWaits},
	}
}

func testReopen(s *suite) {
	s.update(everything)
	for range 2 {
		s.reopen()
		s.expect(true)
	}
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRun(run("run_1", approvals.RunDone)), tx.AppendAudit(entry(2)))
	})
	s.reopen()
	s.view(func(tx approvals.Tx) error {
		if _, err := tx.ActiveRun(ws, place); !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("active run: %v, want ErrNotFound", err)
		}
		head, err := tx.AuditHead(ws)
		if err == nil && head.Seq != 2 {
			s.Errorf("audit head %d, want 2", head.Seq)
		}
		return err
	})
}

func testClosed(s *suite) {
	s.must(s.store.Close())
	s.must(s.store.Close())
	fn := func(approvals.Tx) error {
		s.Error("the closure ran")
		return nil
	}
	dispatched := s.store.Dispatch(s.ctx, func(context.Context, approvals.Job) error { return nil })
	for i, err := range []error{s.store.Update(s.ctx, fn), s.store.View(s.ctx, fn), dispatched} {
		if !errors.Is(err, approvals.ErrClosed) {
			s.Errorf("call %d: %v, want ErrClosed", i+1, err)
		}
	}
}

func testCloseWaits(s *suite) {
	inside, updated, closed := make(chan struct{}, 1), make(chan error, 1), make(chan error, 1)
	release := make(chan struct{})
	go func() {
		updated <- s.store.Update(s.ctx, func(tx approvals.Tx) error {
			signal(inside)
			s.hold(release)
			return everything(tx)
		})
	}()
	await(s, "the transaction to begin", inside)
	go func() { closed <- s.store.Close() }()
	quiet(s, "closed in the middle of a transaction", closed)
	close(release)
	s.must(await(s, "the transaction", updated))
	s.must(await(s, "the end of Close", closed))
	s.store = s.harness.Open()
	s.expect(true)
}
