package approvals_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"countersign/agent"
	"countersign/approvals"
)

// BenchmarkRawUpdate is the floor for BenchmarkDecide: one put of the size of a request in one bbolt transaction.
func BenchmarkRawUpdate(b *testing.B) {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	value := make([]byte, 1500)
	for i := 0; b.Loop(); i++ {
		err := db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return bucket.Put(fmt.Appendf(nil, "%08d", i), value)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// waiting puts n waiting runs with one pending request each into the store.
func (b *bench) waiting(n int) (all []*approvals.Request) {
	now := time.Now().UTC()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		all = nil
		for i := range n {
			at := approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("9.%d", i)}
			run := &approvals.Run{
				Workspace: ws, ID: approvals.NewRunID(now), Place: at, Agent: "ops", Requester: ann, Input: "please",
				Status: approvals.RunWaiting, Version: 3, Epoch: 1, Created: now,
			}
			r := &approvals.Request{
				RequestHead: approvals.RequestHead{
					Workspace: ws, ID: approvals.NewRequestID(now), Run: run.ID, Place: at, Requester: ann,
					Kind: agent.Confirm, Interruption: "ops/1/c1", Agent: "ops", Path: []string{"ops"},
					Tool:   approvals.ToolSnapshot{Name: "pay", Kind: agent.KindFunction, Description: "Pays."},
					Digest: agent.Digest{1}, Requirement: lenient(),
					Status: approvals.RequestPending, Version: 1, Created: now, Expires: now.Add(time.Hour),
				},
				RequestContent: approvals.RequestContent{Arguments: json.RawMessage(`{"amount":5}`)},
			}
			all = append(all, r)
			if err := tx.PutRun(run); err != nil {
				return err
			}
			if err := tx.PutRequest(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// BenchmarkDecide is one click: every check, the decision, the audit links, the card and the job, on disk.
func BenchmarkDecide(t *testing.B) {
	b := newBench(t)
	all := b.waiting(t.N)
	start := cpu()
	t.ResetTimer()
	for _, r := range all {
		b.must(r, bob, approvals.Approve, "")
	}
	t.ReportMetric(float64((cpu()-start).Microseconds())/float64(t.N), "cpu-µs/op")
}

// BenchmarkDecideParallel is 64 people clicking at once.
func BenchmarkDecideParallel(t *testing.B) {
	b := newBench(t)
	all := make(chan *approvals.Request, t.N)
	for _, r := range b.waiting(t.N) {
		all <- r
	}
	close(all)
	t.ResetTimer()
	var people sync.WaitGroup
	for range 64 {
		people.Go(func() {
			for r := range all {
				if _, err := b.decide(r, bob, approvals.Approve, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	people.Wait()
}

// BenchmarkRunCycle is the whole of it, 64 at once: mention, model, card, click, tool, model, answer.
func BenchmarkRunCycle(t *testing.B) {
	b := newBench(t)
	b.log = slog.New(slog.DiscardHandler)
	b.serve(b.store)
	room := make(chan struct{}, 64)
	clicks := make(chan *approvals.Request, 64)
	b.surface.intercept = func(n *approvals.Notification) error {
		switch {
		case n.Kind == approvals.NotifyAnswer:
			<-room
		case n.Kind == approvals.NotifyCard && n.Card.Status == approvals.RequestPending:
			clicks <- n.Card
		}
		return nil
	}
	var people sync.WaitGroup
	for range 8 {
		people.Go(func() {
			for r := range clicks {
				if _, err := b.decide(r, bob, approvals.Approve, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	b.start()
	start := cpu()
	t.ResetTimer()
	for i := range t.N {
		room <- struct{}{}
		b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("7.%d", i)})
	}
	for range cap(room) {
		room <- struct{}{}
	}
	t.ReportMetric(float64(t.N)/(cpu()-start).Seconds(), "runs/cpu-s")
	t.StopTimer()
	b.stop()
	close(clicks)
	people.Wait()
}

// cpu returns the processor time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
