package approvals_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/pgstore"
)

// TestRequestHasOneWinnerOnPostgres is TestRequestHasOneWinner through one process on PostgreSQL, in which people share
// transactions, and through two.
func TestRequestHasOneWinnerOnPostgres(t *testing.T) {
	t.Parallel()
	server := pgdev.Own(t, pgdev.Options{})
	rounds := 10
	if *long {
		rounds = 100
	}
	won := map[approvals.RequestStatus]int{}
	for _, n := range []int{1, 2} {
		database := server.Database(t)
		var processes []*bench
		var stores []*crowded
		for range n {
			b, st := newBenchOnPostgres(t, database)
			processes, stores = append(processes, b), append(stores, st)
		}
		for range rounds { // of which each has a request of its own
			r := askedOn(t, processes[0], stores[0])
			for _, st := range stores {
				st.hold(t, 4/n)
			}
			history := rushOn(t, r, processes...)
			for _, st := range stores {
				st.release()
			}
			if !porcupine.CheckOperations(oneWinner, history) {
				t.Fatalf("%d processes: no order explains %+v", n, history)
			}
			won[processes[0].request(r.ID).Status]++
		}
		for _, st := range stores {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(won) < 2 || won[approvals.RequestPending] > 0 {
		t.Errorf("requests ended as %v: nobody raced", won)
	}
}

// newBenchOnPostgres is newBench with a database instead of a file, and no worker.
func newBenchOnPostgres(t *testing.T, url string) (*bench, *crowded) {
	t.Helper()
	st, err := pgstore.Open(t.Context(), url, pgstore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	b, c := benchWithoutStore(t), &crowded{Store: st, release: func() {}}
	b.serve(c)
	return b, c
}

// crowded is a store in which some wait for the same turn to write.
type crowded struct {
	*pgstore.Store
	release func()
	wait    atomic.Int64           // for so many more to come
	full    atomic.Pointer[func()] // called when they have
}

// hold has a transaction under way until so many wait for it to end, or release is called.
func (c *crowded) hold(t *testing.T, many int) {
	t.Helper()
	released, inside, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	once := sync.OnceFunc(func() { close(released) })
	c.wait.Store(int64(many))
	go func() {
		done <- c.Store.Update(t.Context(), func(approvals.Tx) error {
			close(inside)
			<-released
			return nil
		})
	}()
	<-inside
	c.release = func() {
		once()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	c.full.Store(&once)
}

func (c *crowded) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if c.wait.Add(-1) == 0 {
		(*c.full.Load())()
	}
	return c.Store.Update(ctx, fn)
}

// askedOn has a worker of the process work on a new run until it asks, and returns the request.
func askedOn(t *testing.T, b *bench, st approvals.Store) (r *approvals.Request) {
	t.Helper()
	w, err := approvals.NewWorker(b.worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	id := b.submit()
	b.reaches(id, approvals.RunWaiting)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	err = st.View(t.Context(), func(tx approvals.Tx) error {
		heads, err := tx.RequestsOfRun(ws, id)
		if err != nil || len(heads) != 1 {
			t.Fatalf("%d requests: %v", len(heads), err)
		}
		r, err = tx.Request(ws, heads[0].ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
