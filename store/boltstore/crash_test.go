package boltstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"countersign/approvals"
)

// commitForever commits numbers from several goroutines, each with an audit entry, and prints every number that was
// acknowledged.
func commitForever(args []string) error {
	path := args[0]
	first, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s, err := Open(path, Config{})
	if err != nil {
		return err
	}
	s.db.NoSync = len(args) > 2 // the control: what is acknowledged is not on the disk
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range numbers {
				err := s.Update(context.Background(), func(tx approvals.Tx) error { return putLinked(tx, n) })
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Println(n) // one write: lines do not mix
			}
		})
	}
	for n := first; ; n++ {
		numbers <- n
	}
}

func putLinked(tx approvals.Tx, n int) error {
	e := &approvals.AuditEntry{Workspace: "T1", Seq: 1, Action: approvals.AuditEffectIntent, Actor: strconv.Itoa(n)}
	head, err := tx.AuditHead("T1")
	switch {
	case err == nil:
		e.Seq, e.Prev = head.Seq+1, head.Hash
	case !errors.Is(err, approvals.ErrNotFound):
		return err
	}
	return errors.Join(put(n)(tx), tx.AppendAudit(e),
		tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: strconv.Itoa(n % 50)}))
}

// TestKill kills a process in the middle of its commits: every commit it had acknowledged is there afterwards, whole,
// and the file is in order.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 12
	if *long {
		rounds = 100
	}
	path := newPath(t)
	next := 0
	for range rounds {
		acked := commitAndKill(t, path, next)
		s := open(t, path)
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range acked {
			if !has(t, s, n) {
				t.Fatalf("%d was acknowledged and is gone", n)
			}
			next = max(next, n+100)
		}
		checkBijection(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if next == 0 {
		t.Error("nothing was ever acknowledged")
	}
}

// commitAndKill returns what a child acknowledged before it was killed at a random moment.
func commitAndKill(t *testing.T, path string, first int) (acked []int) {
	t.Helper()
	cmd, out := startChild(t, "commit", path, strconv.Itoa(first))
	lines := bufio.NewScanner(out)
	for after := rand.N(200); lines.Scan(); after-- {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		acked = append(acked, n)
		if after == 0 {
			cmd.Process.Kill() // what is in the pipe was acknowledged too
		}
	}
	cmd.Wait()
	if cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself, after %d commits: %v", len(acked), cmd.ProcessState)
	}
	return acked
}

// checkBijection compares the audit with the effects: a transaction is there as a whole or not at all.
func checkBijection(t *testing.T, s *Store) {
	t.Helper()
	err := s.view(t.Context(), func(tx *tx) error {
		entries, err := tx.AuditEntries("T1", 1, 1<<30)
		if err != nil {
			return err
		}
		effects := 0
		err = tx.scan(bucketEffects, nil, nil, func(_, _ []byte) (bool, error) {
			effects++
			return true, nil
		})
		if effects != len(entries) {
			t.Errorf("%d effects and %d audit entries", effects, len(entries))
		}
		for i, e := range entries {
			if e.Seq != uint64(i+1) {
				t.Errorf("audit entry %d has number %d", i+1, e.Seq)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
