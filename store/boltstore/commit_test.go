package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	"countersign/approvals"
)

// crowd holds a leader in its function until all the others wait behind it, and then lets all of them go.
func crowd(t *testing.T, s *Store, others ...func() error) (errs []error) {
	t.Helper()
	errs = make([]error, len(others))
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Update(t.Context(), func(approvals.Tx) error {
			close(inside)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	for i, other := range others {
		wg.Go(func() { errs[i] = other() })
		waitFor(t, s, i+1) // in order
	}
	close(release)
	wg.Wait()
	return errs
}

// waitFor waits until so many callers wait behind the leader.
func waitFor(t *testing.T, s *Store, n int) {
	t.Helper()
	for queued := -1; queued != n; runtime.Gosched() {
		s.commit.mu.Lock()
		queued = len(s.commit.queue)
		s.commit.mu.Unlock()
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
	}
}

func putting(t *testing.T, s *Store, n int) func() error {
	return func() error { return s.Update(t.Context(), put(n)) }
}

func TestShareOneWrite(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	var callers []func() error
	for n := range 50 {
		callers = append(callers, putting(t, s, n))
	}
	before := s.commit.stats.commits.Load()
	if err := errors.Join(crowd(t, s, callers...)...); err != nil {
		t.Fatal(err)
	}
	if n := s.commit.stats.commits.Load() - before; n != 1 {
		t.Errorf("%d commits for 50 callers that waited, want 1", n)
	}
	for n := range 50 {
		if !has(t, s, n) {
			t.Errorf("%d is gone", n)
		}
	}
}

func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	var callers []func() error
	for n := range 2 * maxBatch {
		callers = append(callers, putting(t, s, n))
	}
	before := s.commit.stats.commits.Load()
	if err := errors.Join(crowd(t, s, callers...)...); err != nil {
		t.Fatal(err)
	}
	if n := s.commit.stats.commits.Load() - before; n < 2 {
		t.Errorf("%d commits for %d callers, want more", n, 2*maxBatch)
	}
}

// TestFailuresLeaveTheBatchAlone lets callers of one batch end in every way there is.
func TestFailuresLeaveTheBatchAlone(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	refused := errors.New("refused")
	ending := func(n int, end func() error) func() error {
		return func() (err error) {
			done := make(chan struct{})
			go func() { // Goexit ends a goroutine of its own
				defer close(done)
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panic: %w", r.(error))
					}
				}()
				err = s.Update(t.Context(), func(tx approvals.Tx) error {
					return errors.Join(put(n)(tx), put(0)(tx), end()) // and over what another wrote
				})
			}()
			<-done
			return err
		}
	}
	errs := crowd(t, s,
		putting(t, s, 0),
		ending(1, func() error { return refused }),
		putting(t, s, 2),
		ending(3, func() error { panic(refused) }),
		putting(t, s, 4),
		ending(5, func() error { runtime.Goexit(); return nil }),
		putting(t, s, 6),
		func() error { return s.Update(t.Context(), func(approvals.Tx) error { return refused }) },
	)
	for n, err := range errs {
		if failed := err != nil; failed != (n == 1 || n == 3 || n == 7) {
			t.Errorf("caller %d: %v", n, err)
		}
		if failed := err != nil; failed && !errors.Is(err, refused) {
			t.Errorf("caller %d: %v, want its own error", n, err)
		}
		if n < 7 && has(t, s, n) != (n%2 == 0) {
			t.Errorf("caller %d: kept %v", n, n%2 != 0)
		}
	}
	if errs[7] != refused {
		t.Errorf("got %v, want the very error", errs[7])
	}
	if n := s.commit.stats.commits.Load(); n != 1 {
		t.Errorf("%d commits, want 1: failures do not split a batch", n)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPanicIsLogged has an update panic that ran for a caller in a batch: the log tells where, and not with what value.
func TestPanicIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := Open(newPath(t), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	var value any
	crowd(t, s, func() error {
		defer func() { value = recover() }()
		return s.Update(t.Context(), func(approvals.Tx) error { return burst() })
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if value != "a secret" {
		t.Errorf("the caller panics with %v", value)
	}
	if text := log.String(); !strings.Contains(text, "boltstore.burst(") || strings.Contains(text, "secret") {
		t.Errorf("logged: %s", text)
	}
}

//go:noinline
func burst() error { panic("a secret") }

// TestUndo takes back overwrites, deletions and new keys, with all indexes.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	settle := func(status approvals.RequestStatus) func(approvals.Tx) error {
		return func(tx approvals.Tx) error { return tx.PutRequest(request("req_1", "run_1", status)) }
	}
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return errors.Join(settle(approvals.RequestPending)(tx), put(1)(tx),
			tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: "ntf_1"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	errs := crowd(t, s,
		func() error {
			return s.Update(t.Context(), func(tx approvals.Tx) error {
				return errors.Join(settle(approvals.RequestApproved)(tx), settle(approvals.RequestPending)(tx),
					settle(approvals.RequestStale)(tx), put(1)(tx), put(2)(tx), putLinked(tx, 3),
					tx.DeleteNotification(&approvals.Notification{Workspace: "T1", ID: "ntf_1"}), refused)
			})
		},
		func() error { return s.update(t.Context(), func(t *tx) error { t.dirty = true; return nil }) })
	if !errors.Is(errs[0], refused) || errs[1] != nil {
		t.Fatal(errs)
	}
	after, err := contents(s)
	if err := errors.Join(err, s.Check(t.Context())); err != nil || after != before {
		t.Errorf("the contents changed: %v, %v", after != before, err)
	}
}

// TestRunPutTwice changes a run that was read, and changes it again: the indexes follow the last word.
func TestRunPutTwice(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	at := approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}
	r := &approvals.Run{Workspace: "T1", ID: "run_1", Place: at, Requester: "T1/U1", Status: approvals.RunQueued}
	if err := s.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutRun(r) }); err != nil {
		t.Fatal(err)
	}
	for _, statuses := range [][]approvals.RunStatus{
		{approvals.RunDone, approvals.RunQueued},
		{approvals.RunWaiting, approvals.RunDone},
		{approvals.RunQueued, approvals.RunDone},
	} {
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			r, err := tx.Run("T1", "run_1")
			for _, status := range statuses {
				r.Status = status
				err = errors.Join(err, tx.PutRun(r))
			}
			return err
		})
		if err := errors.Join(err, s.Check(t.Context())); err != nil {
			t.Errorf("%s: %v", statuses, err)
		}
	}
}

func TestCancelledInQueue(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	inside, release, led := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		led <- s.Update(t.Context(), func(tx approvals.Tx) error {
			close(inside)
			<-release
			return put(1)(tx)
		})
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	queued := make(chan error)
	go func() {
		queued <- s.Update(ctx, func(approvals.Tx) error {
			t.Error("the function ran")
			return nil
		})
	}()
	waitFor(t, s, 1)
	cancel()
	if err := <-queued; !errors.Is(err, context.Canceled) { // while the leader is still at it
		t.Errorf("got %v, want context.Canceled", err)
	}
	close(release)
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// TestPhantom has one caller refuse because of what another wrote, whose commit then fails: the refusal would rest on
// what never was, and must not be told.
func TestPhantom(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	s.db.MaxSize = 1 // nothing may be added
	conflict := errors.New("conflict")
	errs := crowd(t, s,
		func() error { return s.Update(t.Context(), bulky) },
		func() error {
			return s.Update(t.Context(), func(tx approvals.Tx) error {
				if _, err := tx.Effect("T1", "run_1", "bulky"); err == nil {
					return conflict
				}
				return nil
			})
		})
	for i, err := range errs {
		if !errors.Is(err, bolterrors.ErrMaxSizeReached) || errors.Is(err, conflict) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	s.db.MaxSize = 0
	if err := s.Update(t.Context(), bulky); err != nil { // there is space again
		t.Errorf("afterwards: %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func bulky(tx approvals.Tx) error {
	e := &approvals.EffectRecord{Workspace: "T1", Run: "run_1", ID: "bulky", Tool: string(make([]byte, 1<<20))}
	return tx.PutEffect(e)
}

// TestFailedWrite closes the file under the store's feet, as a disk that goes away does: the store must say so for
// ever.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	if err := s.Update(t.Context(), put(1)); err != nil {
		t.Fatal(err)
	}
	dispatched := make(chan error)
	go func() {
		dispatched <- s.Dispatch(t.Context(), func(context.Context, approvals.Job) error { return nil })
	}()
	s.file.Close()
	for i, err := range []error{s.Update(t.Context(), put(2)), s.Update(t.Context(), put(3)),
		s.View(t.Context(), func(approvals.Tx) error { return nil }), s.Check(t.Context()), <-dispatched} {
		if !errors.Is(err, ErrFailed) {
			t.Errorf("call %d: %v, want ErrFailed", i, err)
		}
	}
	s.Close()
}

func TestCommitErrors(t *testing.T) {
	t.Parallel()
	write := func(err error) error { return &fs.PathError{Op: "write", Path: "store.db", Err: err} }
	for _, c := range []struct {
		err    error
		usable bool
	}{
		{write(syscall.ENOSPC), true},
		{write(syscall.EDQUOT), true},
		{write(syscall.EIO), false},
		{syscall.ENOSPC, false}, // of a sync
		{syscall.EIO, false},
		{errors.New("file resize error: truncate store.db: no space left on device"), true},
		{errors.New("file sync error: input/output error"), false},
		{bolterrors.ErrMaxSizeReached, true},
		{errors.New("mmap allocate error: cannot allocate memory"), false},
		{os.ErrClosed, false},
	} {
		if got := outOfSpace(c.err); got != c.usable {
			t.Errorf("%v: usable %v, want %v", c.err, got, c.usable)
		}
	}
}

// TestLoneCallerWaitsForNothing shows that no timer is involved: in a bubble, time stands still while somebody works.
func TestLoneCallerWaitsForNothing(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		begin := time.Now()
		for n := range 100 {
			if err := s.Update(t.Context(), put(n)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("100 updates waited for %v", took)
		}
	})
}
