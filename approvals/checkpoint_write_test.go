package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// keeper is a sink that can fail, and a log.
type keeper struct {
	mu    sync.Mutex
	all   []*approvals.Checkpoint
	err   error
	tries int
	told  int
	log   strings.Builder
}

func (k *keeper) KeepCheckpoint(_ context.Context, c *approvals.Checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tries++; k.err == nil {
		k.all = append(k.all, c)
	}
	return k.err
}

func (k *keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(p)
}

// fails makes the sink fail so, or no more.
func (k *keeper) fails(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// heard counts what is told, and returns how the sink fails.
func (k *keeper) heard() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told++
	return k.err
}

// seen is what was kept, how often that was tried and told, and what was logged.
func (k *keeper) seen() (kept []*approvals.Checkpoint, tries, told int, log string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all), k.tries, k.told, k.log.String()
}

// chain is a store whose chain grows as a test says.
type chain struct {
	approvals.Store
	t   *testing.T
	seq uint64
}

func (c *chain) grow(n int) {
	c.t.Helper()
	err := c.Update(c.t.Context(), func(tx approvals.Tx) error {
		for range n {
			c.seq++
			err := tx.AppendAudit(&approvals.AuditEntry{
				Workspace: "T1", ID: approvals.AuditID(fmt.Sprintf("aud_%08d", c.seq)), Seq: c.seq, At: tx.Now(),
				Hash: agent.Digest{byte(c.seq), byte(c.seq >> 8)},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestCheckpointWriter makes checkpoints when they are due, and only then. One that is not kept raises an alert, and a
// newer one takes its place.
func TestCheckpointWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &chain{Store: storetest.NewMemory().Open(), t: t}
		defer st.Close()
		sink := &keeper{}
		w := &approvals.CheckpointWriter{
			Store: st, Key: auditKey(1), Sink: sink, Logger: slog.New(slog.NewTextHandler(sink, nil)),
			Kept: func(_ *approvals.Checkpoint, err error) {
				if want := sink.heard(); !errors.Is(err, want) {
					t.Errorf("told of %v, want %v", err, want)
				}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		st.grow(3)
		go func() { ended <- w.Run(ctx) }()
		expect := func(what string, after time.Duration, seqs ...uint64) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			var got []uint64
			kept, _, _, _ := sink.seen()
			for _, c := range kept {
				got = append(got, c.Seq)
				if err := c.Check(publicKey(auditKey(1))); err != nil || c.Head[0] != byte(c.Seq) {
					t.Errorf("%s: %+v, %v", what, c, err)
				}
			}
			if len(got) != len(seqs) || len(got) > 0 && got[len(got)-1] != seqs[len(seqs)-1] {
				t.Fatalf("%s: checkpoints of %v, want %v", what, got, seqs)
			}
		}
		expect("at the start", 0, 3)
		expect("nothing is new", time.Hour, 3)
		st.grow(1)
		expect("something is, after an hour", time.Minute, 3, 4)
		st.grow(1)
		expect("soon after", approvals.CheckpointInterval-2*time.Minute, 3, 4)
		expect("when the last one is old", 2*time.Minute, 3, 4, 5)
		st.grow(approvals.CheckpointEntries)
		expect("when there are many", 20*time.Second, 3, 4, 5, 1005)
		sink.fails(errors.New("no such folder"))
		st.grow(approvals.CheckpointEntries)
		expect("not kept", 20*time.Second, 3, 4, 5, 1005)
		_, before, _, log := sink.seen()
		if !strings.Contains(log, "ALERT") || !strings.Contains(log, "no such folder") {
			t.Errorf("no alert: %s", log)
		}
		expect("for a day", 24*time.Hour, 3, 4, 5, 1005)
		if _, tries, _, _ := sink.seen(); tries-before < 100 || tries-before > 400 {
			more := tries - before
			t.Errorf("tried %d times in a day", more)
		}
		st.grow(2)
		sink.fails(nil)
		expect("kept again, the newest", 10*time.Minute, 3, 4, 5, 1005, 2007)
		st.grow(1)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		expect("before the end", 0, 3, 4, 5, 1005, 2007)
		w.Finish(t.Context())
		w.Finish(t.Context())
		expect("at the end", 0, 3, 4, 5, 1005, 2007, 2008)
		kept, tries, told, _ := sink.seen()
		all := make([]approvals.Checkpoint, len(kept))
		for i, c := range kept {
			all[i] = *c
		}
		n := approvals.MissingCheckpoints(all)
		if n != 0 || all[0].Prev != (agent.Digest{}) || all[5].Prev != all[4].Sum() {
			t.Errorf("%d are not continued", n)
		}
		if told != tries {
			t.Errorf("told of %d tries, there were %d", told, tries)
		}
	})
}
