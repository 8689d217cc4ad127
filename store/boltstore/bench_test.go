package boltstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
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
