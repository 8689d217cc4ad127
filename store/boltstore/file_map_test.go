package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestReservation checks how much address space is reserved.
func TestReservation(t *testing.T) {
	t.Parallel()
	if strconv.IntSize != 64 {
		t.Skip("the numbers are those of 64-bit machines")
	}
	const gib, tib = 1 << 30, 1 << 40
	for _, c := range []struct {
		why                    string
		file, system, mappable int64
		want                   int64
	}{
		{"the file cannot outgrow its file system", 1 << 20, 500 * gib, mostMap, 512 * gib},
		{"it has twice its size at least", 700 * gib, 500 * gib, mostMap, 2 * tib},
		{"the size of the file system is unknown", 1 << 20, 0, mostMap, leastMap},
		{"a small file system", 1 << 20, 8 << 20, mostMap, leastMap},
		{"a file system in the network says anything", 1 << 20, 8 << 50, mostMap, mostMap},
		{"39 bits of addresses", 1 << 20, 16 * tib, 300 * gib, 128 * gib},
		{"a limit of address space", 1 << 20, 500 * gib, 3 * gib, gib},
		{"a strict limit", 1 << 20, 500 * gib, 20 << 20, 8 << 20},
		{"a limit, and a large file", 5 * gib, 500 * gib, 20 * gib, 8 * gib},
		{"a limit of hardly more than the file has", 5 * gib, 500 * gib, 6 * gib, 0},
	} {
		tried := 0
		got := reservation(c.file, c.system, func(size int64) bool {
			tried++
			return size <= c.mappable
		})
		if got != c.want || tried > 30 {
			t.Errorf("%s: %d MiB after %d tries, want %d MiB", c.why, got>>20, tried, c.want>>20)
		}
	}
}

// TestOpenViewStallsNobody keeps a view open while the file grows past a reserve: with as much as Open reserves,
// others read and write all the time. The control is a store with a small reserve, whose writer waits for the view.
// (It looks at all goroutines of the process and so runs alone.)
func TestOpenViewStallsNobody(t *testing.T) {
	const small = 1 << 20
	past := int64(2 * small)
	if *long {
		past = leastMap + 64<<20 // what used to be reserved
	}
	for _, c := range []struct {
		reserve int64
		stalled bool
	}{{0, false}, {small, true}} {
		s, err := Open(newPath(t), Config{reserve: c.reserve})
		if err != nil {
			t.Fatal(err)
		}
		s.db.NoSync = true
		viewing, release, viewed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			viewed <- s.View(t.Context(), func(approvals.Tx) error {
				close(viewing)
				<-release
				return nil
			})
		}()
		<-viewing
		grown := make(chan error, 1)
		go func() { grown <- growPast(t, s, past) }()
		if stalled := waitsForReaders(t, grown); stalled != c.stalled {
			t.Errorf("with a reserve of %d bytes the writer waits for a view: %v", c.reserve, stalled)
		}
		close(release)
		if err := errors.Join(<-viewed, <-grown, s.Check(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// growPast writes until the file is larger than size, and reads in between.
func growPast(t *testing.T, s *Store, size int64) error {
	for n := 0; ; n++ {
		stats, err := s.Stats(t.Context())
		if err != nil || stats.FileBytes > size {
			return err
		}
		run := approvals.RunID(fmt.Sprint("run_", n))
		err = s.Update(t.Context(), func(tx approvals.Tx) error {
			return tx.PutState("T1", run, agent.Delta{Head: make([]byte, size/16)})
		})
		if err != nil {
			return err
		}
		err = s.View(t.Context(), func(tx approvals.Tx) error {
			_, _, err := tx.State("T1", run)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// waitsForReaders reports whether bbolt waits for readers to end, so that it can map the file anew, before done has a
// value.
func waitsForReaders(t *testing.T, done chan error) bool {
	stacks := make([]byte, 1<<20)
	for t.Context().Err() == nil {
		if len(done) > 0 {
			return false
		}
		for stack := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
			if bytes.Contains(stack, []byte("bbolt.(*DB).mmap(")) &&
				bytes.Contains(stack, []byte("[sync.RWMutex.Lock")) {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}
