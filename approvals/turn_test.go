package approvals_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/store/storetest"
)

// TestCheckpointsAreMadeOnceByAllProcesses: three processes with the same key and the same place for checkpoints make
// as many together as one would alone, and go on when one of them ends.
func TestCheckpointsAreMadeOnceByAllProcesses(t *testing.T) {
	t.Parallel()
	made := func(processes int) int {
		var total int
		synctest.Test(t, func(t *testing.T) {
			memory := storetest.NewMemory()
			st := memory.Open()
			key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
			var k keeper
			if err := approvals.FillTrail(t.Context(), st, ws, 3); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			first, endFirst := context.WithCancel(ctx)
			for i := range processes {
				w := &approvals.CheckpointWriter{
					Store: memory.Open(), Key: key, Sink: &k, Logger: slog.New(slog.DiscardHandler),
				}
				at := ctx
				if i == 0 && processes > 1 {
					at = first
				}
				go w.Run(at)
			}
			for i := range 6 {
				time.Sleep(approvals.CheckpointInterval)
				if err := approvals.FillTrail(t.Context(), st, ws, 1); err != nil {
					t.Fatal(err)
				}
				if i == 2 {
					endFirst()
				}
			}
			time.Sleep(2 * approvals.CheckpointInterval)
			cancel()
			endFirst()
			synctest.Wait()
			total = len(k.all)
			seen := map[uint64]bool{}
			for _, c := range k.all {
				if seen[c.Seq] {
					t.Errorf("%d processes made two checkpoints of entry %d", processes, c.Seq)
				}
				seen[c.Seq] = true
			}
			if !seen[9] {
				t.Errorf("%d processes made none of the end", processes)
			}
		})
		return total
	}
	one, three := made(1), made(3)
	if three > one+1 || one < 3 {
		t.Errorf("three processes have made %d checkpoints, one makes %d", three, one)
	}
}

// TestWhoFailsGivesTheTurnBack: a process that cannot keep its checkpoint leaves it to one that can.
func TestWhoFailsGivesTheTurnBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		if err := approvals.FillTrail(t.Context(), memory.Open(), ws, 3); err != nil {
			t.Fatal(err)
		}
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		var good, bad keeper
		bad.fails(errLine)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, k := range []*keeper{&bad, &good} {
			w := &approvals.CheckpointWriter{
				Store: memory.Open(), Key: key, Sink: k, Logger: slog.New(slog.DiscardHandler),
			}
			go w.Run(ctx)
			synctest.Wait() // the one that fails comes first
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(good.all) != 1 || bad.tries == 0 {
			t.Errorf("%d checkpoints are kept after %d tries that failed", len(good.all), bad.tries)
		}
	})
}

// TestLeaseSaysThatADeliveryMayHaveBegun: a worker dies in the middle of a page. Who takes it over is told of every
// notification that its delivery may have begun, and of what is new that it has not.
func TestLeaseSaysThatADeliveryMayHaveBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := paced(t, 2, func() (time.Duration, error) { return 0, nil })
		var mu sync.Mutex
		told := map[approvals.NotificationID][]bool{}
		died := make(chan struct{})
		b.worker.Notifier = notifierFunc(func(
			_ context.Context, n *approvals.Notification,
		) (approvals.Delivery, error) {
			mu.Lock()
			told[n.ID] = append(told[n.ID], n.Begun)
			first := len(told) == 1 && len(told[n.ID]) == 1
			mu.Unlock()
			if first {
				<-died
			}
			return approvals.Delivery{Channel: "C1", Message: string(n.ID)}, nil
		})
		one := b.handler(t.Context(), &replica{Store: b.store})
		two := b.handler(t.Context(), &replica{Store: b.store})
		gone := make(chan struct{})
		go func() { defer close(gone); _ = one(deliverJob(place)) }()
		time.Sleep(21 * time.Second)
		if err := two(deliverJob(place)); err != nil {
			t.Fatal(err)
		}
		close(died)
		<-gone
		for id, begun := range told {
			if begun[len(begun)-1] != true {
				t.Errorf("%s: %v: whoever took it over was not told", id, begun)
			}
		}
		b.store.Close()
	})
}

type notifierFunc func(context.Context, *approvals.Notification) (approvals.Delivery, error)

func (f notifierFunc) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	return f(ctx, n)
}
