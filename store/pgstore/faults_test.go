package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// TestRestart stops the server twice in the middle of many transactions, once by a crash. Nobody is told anything but
// the truth: every effect of which Update said that it is there is there, and every one that failed is not. Only of
// those whose commit the crash interrupted it may not be known.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	s := openStore(t, c.Database(t), Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	told := map[string]error{}
	var done atomic.Int64
	var wg sync.WaitGroup
	for caller := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d_%d", caller, i)
				err := s.Update(t.Context(), writeEffect(id))
				mu.Lock()
				told[id] = err
				mu.Unlock()
				done.Add(1)
			}
		})
	}
	for _, crash := range []bool{true, false} {
		for target := done.Load() + 20; done.Load() < target; {
			time.Sleep(time.Millisecond)
		}
		c.Stop(crash)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for target := done.Load() + 20; done.Load() < target; {
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
	failed, unknown := 0, 0
	for id, err := range told {
		if errors.Is(err, approvals.ErrCommitUnknown) {
			if unknown++; !errors.Is(err, errOtherHistory) {
				t.Errorf("%s: %v, although the server came back", id, err)
			}
			continue
		}
		if err != nil {
			failed++
		}
		if got := hasEffect(t, s, id); got != (err == nil) {
			t.Errorf("%s: told %v, written: %v", id, err, got)
		}
	}
	t.Logf("%d transactions, %d failed, of %d it is not known", len(told), failed, unknown)
}

// TestTerminated ends the connection in the middle of a transaction: the closure runs again on another one.
func TestTerminated(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	runs := 0
	err := s.update(t.Context(), func(tx *tx) error {
		runs++
		if err := writeEffect("1")(tx); err != nil {
			return err
		}
		if _, err := tx.Effect("T1", "run_1", "1"); err != nil {
			return err
		}
		if runs == 1 {
			pid := tx.conn.Conn().PgConn().PID()
			if _, err := s.work.Exec(t.Context(), "select pg_terminate_backend($1, 5000)", int32(pid)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || runs != 2 || !hasEffect(t, s, "1") {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// TestTooManyConnections: callers wait for a moment, and are then told what to do.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{Settings: map[string]string{
		"max_connections": "6", "superuser_reserved_connections": "0",
	}})
	url := c.Database(t) + "&pool_max_conns=20"
	s := openStore(t, url, Config{})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if err := s.Update(t.Context(), writeEffect(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.clicks.Reset()
	for range 6 { // until there is no room
		conn, err := pgx.Connect(t.Context(), url[:strings.Index(url, "&pool")])
		if err != nil {
			break
		}
		defer conn.Close(t.Context())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := s.Update(ctx, writeEffect("never"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "max_connections") {
		t.Errorf("without room: %v", err)
	}
}

// TestStatementTimeout: a statement that takes too long ends the transaction, once, in words.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t)+"&statement_timeout=500", Config{})
	runs := 0
	err := s.update(t.Context(), func(t *tx) error {
		runs++
		return t.query(func(pgx.Rows) error { return nil }, "select pg_sleep(60)")
	})
	if runs != 1 || !strings.Contains(fmt.Sprint(err), "statement_timeout") {
		t.Errorf("after %d runs: %v", runs, err)
	}
	if err := s.Update(t.Context(), writeEffect("1")); err != nil {
		t.Error(err)
	}
}

// TestOwnErrorAfterRefusal: what a closure makes of a refusal of the server does not count, the refusal does.
func TestOwnErrorAfterRefusal(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	runs := 0
	err := s.update(t.Context(), func(t *tx) error {
		if runs++; runs == 1 {
			t.query(func(pgx.Rows) error { return nil }, `do $$ begin raise sqlstate '40001'; end $$`)
			return errors.New("the closure's own words")
		}
		return nil
	})
	if err != nil || runs != 2 {
		t.Errorf("%v after %d runs", err, runs)
	}
}
