package approvals_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/store/storetest"
)

// TestCheckpointsGoOnAfterEveryStart: a trail is longer than what a checkpoint is due for at once, and processes end
// and begin. Each, which knows of no checkpoint before its own, goes on making them by the clock: the end of the trail
// is proven within two intervals, whatever the ones before have made.
func TestCheckpointsGoOnAfterEveryStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		st := memory.Open()
		defer st.Close()
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		var k keeper
		if err := approvals.FillTrail(t.Context(), st, ws, approvals.CheckpointEntries+500); err != nil {
			t.Fatal(err)
		}
		for start := range 3 {
			ctx, end := context.WithCancel(t.Context())
			own := memory.Open()
			w := &approvals.CheckpointWriter{Store: own, Key: key, Sink: &k, Logger: slog.New(slog.DiscardHandler)}
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			for range 2 {
				if err := approvals.FillTrail(t.Context(), st, ws, 1); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * approvals.CheckpointInterval)
			}
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			own.Close()
			want := uint64(approvals.CheckpointEntries + 500 + 2*(start+1))
			if last := k.all[len(k.all)-1].Seq; last != want {
				t.Errorf("start %d: the newest checkpoint is of entry %d, want %d", start+1, last, want)
			}
		}
	})
}

// TestCheckpointsGoOnWhenAnotherProcessEnds: one process has long made all checkpoints, by the clock and after many
// entries, and ends. The other one, whose own are old, takes over at once.
func TestCheckpointsGoOnWhenAnotherProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		st := memory.Open()
		defer st.Close()
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		var k keeper
		fill := func(n int) {
			t.Helper()
			if err := approvals.FillTrail(t.Context(), st, ws, n); err != nil {
				t.Fatal(err)
			}
		}
		run := func() (end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			own := memory.Open()
			w := &approvals.CheckpointWriter{Store: own, Key: key, Sink: &k, Logger: slog.New(slog.DiscardHandler)}
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			return func() {
				cancel()
				<-ended
				own.Close()
			}
		}
		fill(3)
		endFirst := run()
		time.Sleep(time.Second)
		endSecond := run()
		fill(approvals.CheckpointEntries + 10)
		time.Sleep(2 * approvals.CheckpointInterval)
		endFirst()
		fill(1)
		time.Sleep(2 * approvals.CheckpointInterval)
		endSecond()
		const want = approvals.CheckpointEntries + 14
		if last := k.all[len(k.all)-1].Seq; last != want {
			t.Errorf("the newest checkpoint is of entry %d, want %d", last, want)
		}
	})
}

// TestCheckpointOfADeadProcessIsMade: a process has taken the turn to make a checkpoint, and dies before it is kept.
// Nothing is added to the trail, and the end of it is proven all the same, by whoever is there. A process that is only
// slow is left in peace for a while.
func TestCheckpointOfADeadProcessIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		st := memory.Open()
		defer st.Close()
		if err := approvals.FillTrail(t.Context(), st, ws, 3); err != nil {
			t.Fatal(err)
		}
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		hangs := hangingSink{make(chan struct{}), make(chan struct{})}
		var k keeper
		run := func(sink approvals.CheckpointSink) (own approvals.Store, end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			own = memory.Open()
			w := &approvals.CheckpointWriter{Store: own, Key: key, Sink: sink, Logger: slog.New(slog.DiscardHandler)}
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			return own, func() { cancel(); <-ended }
		}
		dead, endFirst := run(hangs)
		<-hangs.came
		dead.Close()
		_, endSecond := run(&k)
		time.Sleep(time.Minute)
		synctest.Wait()
		if kept, _, _, _ := k.seen(); len(kept) != 0 {
			t.Error("the turn of a process that may be slow was taken")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if kept, _, _, _ := k.seen(); len(kept) != 1 || kept[0].Seq != 3 {
			t.Errorf("there are %d checkpoints of the end of the trail, want 1", len(kept))
		}
		_, endThird := run(&k)
		time.Sleep(time.Hour)
		synctest.Wait()
		if kept, _, _, _ := k.seen(); len(kept) != 1 {
			t.Errorf("%d checkpoints of one entry", len(kept))
		}
		close(hangs.goes)
		endFirst()
		endSecond()
		endThird()
	})
}

// hangingSink says that a checkpoint came, and keeps it when it is told to go.
type hangingSink struct{ came, goes chan struct{} }

func (s hangingSink) KeepCheckpoint(context.Context, *approvals.Checkpoint) error {
	close(s.came)
	<-s.goes
	return nil
}
