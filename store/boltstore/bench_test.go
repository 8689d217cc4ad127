package boltstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

// BenchmarkUpdate compares one small write through the store with the same write through bbolt itself: alone and with
// 64 callers at once, in one run, so that the ratios hold on any machine.
func BenchmarkUpdate(b *testing.B) {
	value := make([]byte, 200)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("bbolt.Update/callers=%d", callers), func(b *testing.B) {
			db := benchBolt(b)
			benchCallers(b, callers, func(n uint64) error {
				return db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("b")).Put(benchKey(n), value) })
			})
		})
		b.Run(fmt.Sprintf("bbolt.Batch/callers=%d", callers), func(b *testing.B) {
			db := benchBolt(b)
			benchCallers(b, callers, func(n uint64) error {
				return db.Batch(func(tx *bolt.Tx) error { return tx.Bucket([]byte("b")).Put(benchKey(n), value) })
			})
		})
		b.Run(fmt.Sprintf("store/callers=%d", callers), func(b *testing.B) {
			s := benchStore(b)
			benchCallers(b, callers, func(n uint64) error {
				return s.update(b.Context(), func(t *tx) error { return t.putRaw(bucketStates, benchKey(n), value) })
			})
		})
	}
}

func benchBolt(b *testing.B) *bolt.DB {
	db, err := bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("b"))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func benchStore(b *testing.B) *Store {
	s, err := Open(filepath.Join(b.TempDir(), "store.db"), Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func benchKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func benchCallers(b *testing.B, callers int, write func(n uint64) error) {
	var next, failed atomic.Uint64
	b.SetParallelism((callers + 1) / 2) // times GOMAXPROCS, which is 2 where this is measured
	if callers == 1 {
		for b.Loop() {
			if write(next.Add(1)) != nil {
				failed.Add(1)
			}
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if write(next.Add(1)) != nil {
					failed.Add(1)
				}
			}
		})
	}
	if failed.Load() > 0 {
		b.Fatalf("%d writes failed", failed.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkDispatch measures from the call of Update that enqueues a job to the start of its handler.
func BenchmarkDispatch(b *testing.B) {
	s := benchStore(b)
	ctx, cancel := context.WithCancel(b.Context())
	started := make(chan time.Time)
	done := make(chan error)
	go func() {
		done <- s.Dispatch(ctx, func(context.Context, approvals.Job) error {
			started <- time.Now()
			return nil
		})
	}()
	var total time.Duration
	for n := 0; b.Loop(); n++ {
		begin := time.Now()
		err := s.Update(ctx, func(tx approvals.Tx) error {
			return tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: fmt.Sprint(n)})
		})
		if err != nil {
			b.Fatal(err)
		}
		total += (<-started).Sub(begin)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/handled")
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// fillRequests puts n decided requests with an entry of the audit each, in commits of 5,000 that nothing waits for.
func fillRequests(tb testing.TB, s *Store, prefix string, n int, status approvals.RequestStatus) {
	tb.Helper()
	s.db.NoSync = true
	defer func() { s.db.NoSync = false }()
	for from := 0; from < n; from += 5000 {
		err := s.Update(tb.Context(), func(tx approvals.Tx) error {
			for i := from; i < min(from+5000, n); i++ {
				id := approvals.RequestID(fmt.Sprintf("req_%s%025d", prefix, i))
				r := &approvals.Request{RequestHead: approvals.RequestHead{
					Workspace: "T0123456789", ID: id, Run: approvals.RunID("run_" + id[4:]),
					Place:     approvals.Place{Surface: "slack", Channel: "C0123456789", Thread: "1700000000.000100"},
					Requester: "T0123456789/U0123456789", Agent: "ops", Interruption: "ops/1/call_0123456789",
					Status: status, Created: time.Unix(1_700_000_000, 0),
					Decisions: []approvals.Decision{{ID: "dec_1", By: "T0123456789/U1", Verdict: approvals.Approve}}}}
				r.Arguments = []byte(`{"amount":1250,"memo":"invoice 2026-1143","to":"ACME GmbH"}`)
				if err := tx.PutRequest(r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.db.Sync(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkPendingPage reads a page of 20 out of 10,000 pending requests beside a growing number of decided ones.
func BenchmarkPendingPage(b *testing.B) {
	for _, decided := range decidedCounts() {
		b.Run(fmt.Sprintf("decided=%d", decided), func(b *testing.B) {
			s := benchStore(b)
			fillRequests(b, s, "p", 10_000, approvals.RequestPending)
			fillRequests(b, s, "a", decided, approvals.RequestApproved)
			for b.Loop() {
				err := s.View(b.Context(), func(tx approvals.Tx) error {
					list, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: "T0123456789",
						Status: approvals.RequestPending, After: "req_p0000000000000000000005000", Limit: 20})
					if len(list) != 20 {
						b.Fatalf("%d requests", len(list))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen opens and closes a store with a growing number of decided requests.
func BenchmarkOpen(b *testing.B) {
	for _, decided := range decidedCounts() {
		b.Run(fmt.Sprintf("decided=%d", decided), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "store.db")
			s, err := Open(path, Config{})
			if err != nil {
				b.Fatal(err)
			}
			fillRequests(b, s, "a", decided, approvals.RequestApproved)
			stats, err := s.Stats(b.Context())
			if err := errors.Join(err, s.Close()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := Open(path, Config{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(stats.FileBytes)/1e6, "MB/file")
		})
	}
}

// BenchmarkPendingMemory measures what stays in the heap for each pending request, which should be nothing.
func BenchmarkPendingMemory(b *testing.B) {
	const pending = 10_000
	for b.Loop() {
		s := benchStore(b)
		before := heapInUse()
		fillRequests(b, s, "p", pending, approvals.RequestPending)
		after := heapInUse()
		b.ReportMetric(float64(after-before)/pending, "heapB/request")
		runtime.KeepAlive(s)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func decidedCounts() []int {
	if *long {
		return []int{1000, 10_000, 100_000, 1_000_000}
	}
	return []int{1000, 10_000}
}
