package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// through returns the URL of a new store behind a proxy.
func through(t *testing.T) (*pgdev.Proxy, string) {
	c := pgdev.Start(t)
	newURL(t) // makes the database
	p := pgdev.NewProxy(t, c.Socket())
	url := "postgres://postgres@" + p.Addr + "/stores?sslmode=disable"
	return p, inSchema(url, fmt.Sprintf("s%d", schemas.Add(1)))
}

func writeEffect(id string) func(approvals.Tx) error {
	return func(tx approvals.Tx) error {
		return tx.PutEffect(&approvals.EffectRecord{Workspace: "T1", Run: "run_1", ID: id, Tool: "pay"})
	}
}

func hasEffect(t testing.TB, s *Store, id string) bool {
	t.Helper()
	var there error
	err := s.View(t.Context(), func(tx approvals.Tx) error {
		_, there = tx.Effect("T1", "run_1", id)
		return nil
	})
	if err != nil || there != nil && !errors.Is(there, approvals.ErrNotFound) {
		t.Fatal(err, there)
	}
	return there == nil
}

// TestCommitCut cuts the connection at the COMMIT, before and after the server has seen it; one time the server says
// that it stops, and one time that its disk fails, which is no word about the COMMIT either. The caller is told what is
// so, and a closure whose transaction was committed does not run again.
func TestCommitCut(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{})
	for i := range 24 {
		how, runs := []int32{pgdev.CutBefore, pgdev.CutAfter, pgdev.StopAfter, pgdev.PanicAfter}[i%4], 0
		id := fmt.Sprint(i)
		cuts := p.Cuts.Load()
		p.Next.Store(how)
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			runs++
			return writeEffect(id)(tx)
		})
		if err != nil || !hasEffect(t, s, id) {
			t.Errorf("cut %d: %v, written: %v", how, err, hasEffect(t, s, id))
		}
		want := 1
		if how == pgdev.CutBefore {
			want = 2
		}
		if runs != want || p.Cuts.Load() != cuts+1 {
			t.Errorf("cut %d: the closure ran %d times, want %d; %d cuts", how, runs, want, p.Cuts.Load()-cuts)
		}
	}
}

// TestCommitsCutAtOnce has as many callers lose their connections at a COMMIT as a pool has connections: each can ask
// what became of its own.
func TestCommitsCutAtOnce(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url+"&pool_max_conns=2", Config{})
	p.Every.Store(2)
	ctx, cancel := context.WithTimeout(approvals.WithOwnTransaction(t.Context()), *awaiting)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := s.Update(ctx, writeEffect(fmt.Sprint(i))); err != nil {
				t.Errorf("effect %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	p.Every.Store(0)
	if cuts := p.Cuts.Load(); cuts < 10 {
		t.Errorf("%d commits were cut", cuts)
	}
}

// TestCommitCutBlind is the control: without asking the server nobody can tell the two cuts apart.
func TestCommitCutBlind(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{blind: true})
	for i, how := range []int32{pgdev.CutBefore, pgdev.CutAfter} {
		id := fmt.Sprint(i)
		p.Next.Store(how)
		err := s.Update(t.Context(), writeEffect(id))
		if !errors.Is(err, approvals.ErrCommitUnknown) {
			t.Errorf("cut %d: %v, want ErrCommitUnknown", how, err)
		}
		if got := hasEffect(t, s, id); got != (how == pgdev.CutAfter) {
			t.Errorf("cut %d: written: %v", how, got)
		}
	}
}

// TestJobIsInTheTransaction: a job is there when what was written with it is, and only then, also where the process
// that has written both hears no more of it.
func TestJobIsInTheTransaction(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{blind: true})
	for _, how := range []int32{pgdev.CutBefore, pgdev.CutAfter} {
		id := fmt.Sprint("run_", how)
		p.Next.Store(how)
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			return errors.Join(writeEffect(id)(tx), tx.Enqueue(job(id)))
		})
		if !errors.Is(err, approvals.ErrCommitUnknown) {
			t.Errorf("cut %d: %v, want ErrCommitUnknown", how, err)
		}
		found := must((&claims{db: s.work}).find(t.Context(), []jobKey{{"T1", approvals.JobRun, id}}))
		if got := hasEffect(t, s, id); got != (how == pgdev.CutAfter) || got != (len(found) == 1) {
			t.Errorf("cut %d: written: %v; jobs: %v", how, got, found)
		}
	}
}

// TestCommitUnknown has the server go away with the connection: nobody can be asked before the context ends.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	c.Exec(t, "postgres", "create database one")
	p := pgdev.NewProxy(t, c.Socket())
	s := openStore(t, "postgres://postgres@"+p.Addr+"/one?sslmode=disable", Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := s.Update(ctx, func(tx approvals.Tx) error {
		if err := writeEffect("1")(tx); err != nil {
			return err
		}
		tx.Now() // the connection is there
		_, err := tx.Effect("T1", "run_1", "1")
		p.Next.Store(pgdev.CutAfter)
		go func() {
			for p.Cuts.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			c.Stop(true)
		}()
		return err
	})
	if !errors.Is(err, approvals.ErrCommitUnknown) && err != nil {
		t.Errorf("%v, want ErrCommitUnknown", err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if !hasEffect(t, s, "1") {
		t.Error("what was committed is gone")
	}
}

// TestOtherHistory: after a crash or a failover a number may be that of another transaction, and proves nothing. After
// a crash the server does give numbers again, which is what the last part shows.
func TestOtherHistory(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	s := openStore(t, c.Database(t), Config{})
	var id, history string
	number := func() (id, history string) {
		err := s.update(t.Context(), func(t *tx) error {
			t.Now()
			id, history = t.id, historyOf(t.conn.Conn())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return id, history
	}
	id, history = number()
	restart := func(crash bool) {
		c.Stop(crash)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	restart(false)
	if got, err := s.outcome(t.Context(), id, history); got != "committed" || err != nil {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	var again string
	for range 5 { // the server writes the next number down every 15 seconds, in the middle of it by chance
		for range 20 {
			id, history = number() // of transactions that write nothing, of which nothing is written to disk
		}
		restart(true)
		s.clicks.Reset() // its connections are gone
		if got, err := s.ask(t.Context(), id, history); !errors.Is(err, errOtherHistory) {
			t.Fatalf("after a crash the server was asked: %q, %v", got, err)
		}
		if got, err := s.outcome(t.Context(), id, history); !errors.Is(err, errOtherHistory) {
			t.Errorf("after a crash: %q, %v", got, err)
		}
		if again, _ = number(); len(again) < len(id) || len(again) == len(id) && again <= id {
			return
		}
	}
	t.Errorf("after the crash the server goes on with %s behind %s: the control shows nothing", again, id)
}
