package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
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

// TestOpenReservesTheFileSystem compares what Open has mapped with what it means to reserve, as the kernel tells it.
func TestOpenReservesTheFileSystem(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the maps of a process are read from /proc")
	}
	for _, reserve := range []int64{0, 8 << 20} {
		path := newPath(t)
		s, err := Open(path, Config{reserve: reserve})
		if err != nil {
			t.Fatal(err)
		}
		want := reserve
		if want == 0 {
			want = reservation(0, systemSize(s.file), func(n int64) bool { return mappable(s.file, n) })
		}
		if got := mappedBytes(t, path); got != want || got < tinyMap {
			t.Errorf("Open mapped %d bytes of address space, want %d", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// mappedBytes returns the size of the largest map of the file in this process.
func mappedBytes(t *testing.T, path string) (largest int64) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if strings.HasSuffix(strings.TrimSpace(line), path) {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			largest = max(largest, to-from)
		}
	}
	return largest
}

// TestOpenViewStallsNobody keeps a view open while the file grows from its first pages to most of its reserve: others
// read and write all the time. The control has a smaller reserve, and its writer waits for the view. How much Open
// reserves is another test's, so that none has to fill a gibibyte of disk. (It looks at all goroutines of the process
// and so runs alone.)
func TestOpenViewStallsNobody(t *testing.T) {
	const past = 12 << 20
	for _, c := range []struct {
		reserve int64
		stalled bool
	}{{16 << 20, false}, {1 << 20, true}} {
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
