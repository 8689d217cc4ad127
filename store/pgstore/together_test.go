package pgstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/pgdev"
)

// sharing calls Update n times so that all of them wait for the same transaction, and returns what each said.
func sharing(t *testing.T, s *Store, n int, fn func(i int) func(*tx) error) []error {
	t.Helper()
	return withHeld(t, s, n, func(i int) error { return s.update(t.Context(), fn(i)) })
}

// withHeld has n callers of Update wait, and gives them their turn once all do.
func withHeld(t *testing.T, s *Store, n int, call func(i int) error) []error {
	t.Helper()
	return withQueueHeld(s.queue(t.Context(), true), n, call)
}

// withQueueHeld is withHeld for callers of View as well.
func withQueueHeld(q *queue, n int, call func(i int) error) []error {
	q.mu.Lock()
	own := q.begin()
	own.since = time.Now().Add(time.Hour)
	q.mu.Unlock()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	for waiting := 0; waiting < n; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		waiting = len(q.waiting)
		q.mu.Unlock()
	}
	q.leave(own)
	wg.Wait()
	return errs
}

func putRuns(t *testing.T, s *Store, ids ...approvals.RunID) {
	t.Helper()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		for _, id := range ids {
			r := &approvals.Run{Workspace: "T1", ID: id, Status: approvals.RunWaiting}
			if err := tx.PutRun(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// version returns the version of a run.
func version(t *testing.T, s *Store, id approvals.RunID) (v uint64) {
	t.Helper()
	err := s.View(t.Context(), func(tx approvals.Tx) error {
		r, err := tx.Run("T1", id)
		if err == nil {
			v = uint64(r.Version)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bump reads a run and writes its next version.
func bump(tx *tx, id approvals.RunID) error {
	r, err := tx.Run("T1", id)
	if err != nil {
		return err
	}
	r.Version++
	return tx.PutRun(r)
}

func runID(i int) approvals.RunID { return approvals.RunID(fmt.Sprintf("run_%02d", i)) }

// TestTogether: callers that wait at the same time share a transaction, and everything they wrote is there, with the
// jobs they planned.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	var ids []approvals.RunID
	for i := range together {
		ids = append(ids, runID(i))
	}
	putRuns(t, s, ids...)
	numbers := make([]string, together)
	errs := sharing(t, s, together, func(i int) func(*tx) error {
		return func(tx *tx) error {
			r, err := tx.Run("T1", runID(i))
			numbers[i] = tx.id
			if err != nil {
				return err
			}
			r.Version++
			r.Status = approvals.RunQueued
			id := fmt.Sprint(i)
			return errors.Join(tx.PutRun(r), writeEffect(id)(tx),
				tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", ID: approvals.AuditID("aud_a" + id)},
					&approvals.AuditEntry{Workspace: "T1", ID: approvals.AuditID("aud_b" + id)}),
				tx.PutNotification(&approvals.Notification{Workspace: "T1", ID: approvals.NotificationID("ntf_" + id)}),
				tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: id},
					approvals.Job{Workspace: "T1", Kind: approvals.JobDeliver, ID: id}))
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range together {
		if numbers[i] == "" || numbers[i] != numbers[0] {
			t.Errorf("caller %d had transaction %q, and the first one %q", i, numbers[i], numbers[0])
		}
		if v := version(t, s, runID(i)); v != 1 || !hasEffect(t, s, fmt.Sprint(i)) {
			t.Errorf("of caller %d: version %d, effect: %v", i, v, hasEffect(t, s, fmt.Sprint(i)))
		}
	}
	var audit, jobs, notes, working, named int
	err := s.clicks.QueryRow(t.Context(), `select (select count(*) from audit), (select count(*) from jobs),
		(select count(*) from outbox), (select count(*) from runs_working),
		(select sum(jsonb_array_length(args -> 'keys')) from river_job where kind = $1)`, reminderKind).
		Scan(&audit, &jobs, &notes, &working, &named)
	if err != nil || audit != 2*together || jobs != 2*together || notes != together || working != together ||
		named != 2*together {
		t.Errorf("%d entries, %d jobs, %d reminded of, %d notes, %d working: %v",
			audit, jobs, named, notes, working, err)
	}
}

// TestPeopleNeedNoConnectionOfWork: whoever has a button pressed shares a transaction with those at work when it is
// their turn, and does not wait for a connection of theirs.
func TestPeopleNeedNoConnectionOfWork(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	for range s.work.Config().MaxConns {
		conn, err := s.work.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	errs := withHeld(t, s, 2, func(i int) error {
		if i == 0 {
			return s.Update(approvals.WithoutHurry(ctx), writeEffect("of work"))
		}
		for q, work := &s.updates, 0; work == 0; runtime.Gosched() {
			q.mu.Lock()
			if work = len(q.waiting); work > 0 {
				q.turns += mostTurns // it is the turn of work
			}
			q.mu.Unlock()
		}
		return s.Update(ctx, writeEffect("of a person"))
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// TestTogetherFailures: a closure that fails, panics, ends its goroutine, is refused by the server, is cancelled, does
// something that cannot be shared or does not come back has nothing written, or runs by itself, and the others are
// committed.
func TestTogetherFailures(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	putRuns(t, s, "run_1")
	own := errors.New("the closure's own")
	cancelled, cancel := context.WithCancel(t.Context())
	var late sync.WaitGroup
	late.Add(2) // the two that are simply committed
	fns := []func(*tx) error{
		func(tx *tx) error { return writeEffect("good")(tx) },
		func(tx *tx) error { return errors.Join(writeEffect("failed")(tx), own) },
		func(tx *tx) error { writeEffect("panicked")(tx); panic("at the disco") },
		func(tx *tx) error { writeEffect("ended")(tx); runtime.Goexit(); return nil },
		func(tx *tx) error {
			r := &approvals.RequestHead{Workspace: "T1", ID: "req_none", Digest: agent.Digest{}}
			return errors.Join(writeEffect("refused")(tx), tx.PutRequestHead(r))
		},
		func(tx *tx) error {
			return errors.Join(writeEffect("queried")(tx), tx.query(func(pgx.Rows) error { return nil }, "select 1"))
		},
		func(tx *tx) error { writeEffect("cancelled")(tx); cancel(); return nil },
		func(tx *tx) error { late.Wait(); return writeEffect("late")(tx) },
		func(tx *tx) error { return errors.Join(bump(tx, "run_1"), writeEffect("read")(tx)) },
		func(tx *tx) error {
			_, err := tx.Run("T1", "run_none")
			return err
		},
	}
	names := []string{"good", "failed", "panicked", "ended", "refused", "queried", "cancelled", "late", "read",
		"absent"}
	errs := withHeld(t, s, len(fns), func(i int) (err error) {
		ctx := t.Context()
		if names[i] == "cancelled" {
			ctx = cancelled
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panicked: %v", r)
				}
			}()
			err = errors.New("ended")
			err = s.update(ctx, fns[i])
		}()
		<-done
		if names[i] == "good" || names[i] == "read" {
			late.Done()
		}
		return err
	})
	want := map[string]error{"failed": own, "refused": approvals.ErrNotFound, "cancelled": context.Canceled,
		"absent": approvals.ErrNotFound}
	for i, name := range names {
		switch err := errs[i]; {
		case name == "panicked" || name == "ended":
			if err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, want[name]):
			t.Errorf("%s: %v, want %v", name, err, want[name])
		}
		if got := hasEffect(t, s, name); got != (errs[i] == nil) {
			t.Errorf("%s: told %v, written: %v", name, errs[i], got)
		}
	}
}

// TestTogetherCut cuts the connection at the COMMIT of several callers, before and after the server has seen it: each
// is told what is so, and no closure that was committed runs again.
func TestTogetherCut(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{})
	for i := range 6 {
		how := []int32{pgdev.CutBefore, pgdev.CutAfter}[i%2]
		cuts := p.Cuts.Load()
		p.Next.Store(how)
		const n = 4
		runs := make([]int, n)
		errs := sharing(t, s, n, func(c int) func(*tx) error {
			return func(tx *tx) error {
				runs[c]++
				return writeEffect(fmt.Sprintf("%d_%d", i, c))(tx)
			}
		})
		for c, err := range errs {
			want := map[int32]int{pgdev.CutBefore: 2, pgdev.CutAfter: 1}[how]
			if err != nil || !hasEffect(t, s, fmt.Sprintf("%d_%d", i, c)) || runs[c] != want {
				t.Errorf("cut %d: %v; the closure ran %d times, want %d", how, err, runs[c], want)
			}
		}
		if p.Cuts.Load() != cuts+1 {
			t.Errorf("%d cuts", p.Cuts.Load()-cuts)
		}
	}
}

// TestTogetherCutBlind is the control: where nobody asks the server, all callers are told that it is not known.
func TestTogetherCutBlind(t *testing.T) {
	t.Parallel()
	p, url := through(t)
	s := openStore(t, url, Config{blind: true})
	p.Next.Store(pgdev.CutAfter)
	errs := sharing(t, s, 3, func(c int) func(*tx) error {
		return func(tx *tx) error { return writeEffect(fmt.Sprint(c))(tx) }
	})
	for _, err := range errs {
		if !errors.Is(err, approvals.ErrCommitUnknown) {
			t.Errorf("%v, want ErrCommitUnknown", err)
		}
	}
}

// TestTogetherWaits: a caller that is cancelled while it waits for its turn goes, and nobody waits for ever for a
// transaction that does not end.
func TestTogetherWaits(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	release := make(chan struct{})
	first := make(chan error, 1)
	inside := make(chan struct{})
	go func() {
		first <- s.Update(t.Context(), func(tx approvals.Tx) error {
			close(inside)
			<-release
			return writeEffect("first")(tx)
		})
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() { cancelled <- s.Update(ctx, writeEffect("cancelled")) }()
	q := s.queue(t.Context(), true)
	for waits := false; !waits; {
		q.mu.Lock()
		waits = len(q.waiting) > 0 || len(cancelled) > 0
		q.mu.Unlock()
	}
	cancel()
	if err := <-cancelled; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waited: %v", err)
	}
	if err := s.Update(t.Context(), writeEffect("second")); err != nil || !hasEffect(t, s, "second") {
		t.Errorf("beside one that does not end: %v", err)
	}
	close(release)
	if err := <-first; err != nil || !hasEffect(t, s, "first") {
		t.Errorf("the first one: %v", err)
	}
}

// TestBatchRunsBeforeItsCallersAreCalled: when the last caller of a batch has left, the store may be closed, and with
// it the goroutines that batches run on. So the batch runs before any of them knows.
func TestBatchRunsBeforeItsCallersAreCalled(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{})
	q := &s.updates
	caller := func() *member {
		return &member{ctx: t.Context(), called: make(chan call), told: make(chan error, 1)} // called waits to be heard
	}
	first, second := caller(), caller()
	q.mu.Lock()
	q.waiting = append(q.waiting, first, second)
	q.mu.Unlock()
	go func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.next()
	}()
	b := (<-first.called).batch
	await(t, "the transaction to begin", b.begun)
	<-second.called
	first.in(b).quit()
	second.in(b).quit()
}
