package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"countersign/approvals"
)

// BenchmarkEnqueue measures what the jobs of a transaction cost, two of them, in transactions that do nothing else:
// with no reminder, with ours, and with what River's own calls write.
func BenchmarkEnqueue(b *testing.B) {
	river1 := func(t *tx, n int64) error { return insertRiver(t, 1) }
	river2 := func(t *tx, n int64) error { return insertRiver(t, 2) }
	for _, c := range []struct {
		name    string
		set     jobSettings
		more    func(t *tx, n int64) error
		indexed bool // with the indexes that we drop
	}{
		{"no-reminder", jobSettings{noRiver: true}, nil, false},
		{"reminder", jobSettings{}, nil, false},
		{"reminder-with-search-indexes", jobSettings{}, nil, true},
		{"InsertManyTx-of-1", jobSettings{noRiver: true}, river1, true},
		{"InsertManyTx-of-2", jobSettings{noRiver: true}, river2, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := openStore(b, newURL(b), Config{jobs: c.set})
			if c.indexed {
				for _, i := range searchIndexes {
					s.work.Exec(b.Context(), "create index "+i.name+" on river_job using gin ("+i.column+")")
				}
			}
			var next atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					n := next.Add(1)
					err := s.update(context.Background(), func(t *tx) error {
						j, k := job(fmt.Sprint("run_", n)), job(fmt.Sprint("card_", n))
						k.Kind = approvals.JobDeliver
						k.Place = &approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}
						if err := t.Enqueue(j, k); err != nil || c.more == nil {
							return err
						}
						return c.more(t, n)
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		})
	}
}

var inserter, _ = river.NewClient(riverpgxv5.New(nil), &river.Config{})

// insertRiver inserts reminders by River's own call.
func insertRiver(t *tx, n int) error {
	t.Now() // it begins
	var list []river.InsertManyParams
	for range n {
		list = append(list, river.InsertManyParams{Args: reminder{Keys: []string{"VDE.cnVu.cnVuXzE"}},
			InsertOpts: &river.InsertOpts{Queue: reminderQueue}})
	}
	_, err := inserter.InsertManyTx(t.ctx, onConn{t.conn.Conn()}, list)
	return err
}

type pgxConn = pgx.Conn

// onConn is a transaction that has begun on a connection.
type onConn struct{ *pgxConn }

func (onConn) Commit(context.Context) error   { return nil }
func (onConn) Rollback(context.Context) error { return nil }
func (onConn) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
func (c onConn) Conn() *pgx.Conn              { return c.pgxConn }

// BenchmarkJobs measures a job from its Enqueue to its end, many at once, each waited for.
func BenchmarkJobs(b *testing.B) {
	for _, c := range []struct {
		name string
		set  jobSettings
	}{
		{"local", jobSettings{}},
		{"local-no-reminder", jobSettings{noRiver: true}},
		{"river", jobSettings{noLocal: true, sweep: -1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := openStore(b, newURL(b), Config{jobs: c.set})
			var next atomic.Int64
			var waiters sync.Map
			defer dispatch(b, s, func(_ context.Context, j approvals.Job) error {
				w, _ := waiters.LoadAndDelete(j.ID)
				close(w.(chan struct{}))
				return nil
			})()
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					j, done := job(fmt.Sprint("run_", next.Add(1))), make(chan struct{})
					j.Group = j.ID
					waiters.Store(j.ID, done)
					enqueueJobs(b, s, j)
					<-done
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
