package boltstore

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"countersign/internal/faultfs"
)

// disk mounts a disk that can fail. Where that cannot be done the test is skipped, unless it is required.
func disk(t *testing.T) (fs *faultfs.FS, dir string) {
	t.Helper()
	dir = t.TempDir()
	fs, err := faultfs.Mount(dir)
	if err != nil {
		if faultfs.Required(*long) {
			t.Fatalf("power cuts and broken disks take root and /dev/fuse: %v", err)
		}
		t.Skipf("SKIPPED, power cuts and broken disks are not tested here: %v", err)
	}
	t.Cleanup(func() {
		if err := fs.Unmount(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return fs, dir
}

// writing is a child that commits on a disk.
type writing struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	acked []int
}

func write(t *testing.T, dir string, args ...string) *writing {
	t.Helper()
	cmd, out := startChild(t, "commit", append([]string{filepath.Join(dir, "store.db")}, args...)...)
	return &writing{cmd: cmd, lines: bufio.NewScanner(out)}
}

// next returns whether one more commit was acknowledged.
func (w *writing) next(t *testing.T) bool {
	t.Helper()
	if !w.lines.Scan() {
		return false
	}
	n, err := strconv.Atoi(w.lines.Text())
	if err != nil {
		t.Fatalf("the child says %q", w.lines.Text())
	}
	w.acked = append(w.acked, n)
	return true
}

// end kills the child. What it acknowledged after the power was cut never left the machine.
func (w *writing) end() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// survived opens what is left of the file and returns how many of the acknowledged commits are missing. An error says
// that the file is refused.
func survived(t *testing.T, left []byte, acked []int) (lost int, err error) {
	t.Helper()
	path := newPath(t)
	if err := os.WriteFile(path, left, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkFirst(t, path); err != nil {
		return 0, err
	}
	s, err := Open(path, Config{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for _, n := range acked {
		if !has(t, s, n) {
			lost++
		}
	}
	if lost == 0 {
		checkBijection(t, s)
	}
	return lost, nil
}

// checkFirst reads the whole file before anything is written to it. A disk that was not synced leaves pages that hold
// anything, and a write to one that claims millions of pages takes all memory: docs/reliability.md.
func checkFirst(t *testing.T, path string) error {
	t.Helper()
	s, err := Open(path, Config{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(s.Check(t.Context()), s.Close())
}

// cut has a child commit, cuts the power at a random moment, and returns what was acknowledged and what is left.
func cut(t *testing.T, random *rand.Rand, torn bool, args ...string) (acked []int, left []byte) {
	t.Helper()
	fs, dir := disk(t)
	w := write(t, dir, append([]string{"0"}, args...)...)
	for range 1 + random.IntN(60) {
		if !w.next(t) {
			t.Fatalf("the child ended by itself after %d commits", len(w.acked))
		}
	}
	var half *rand.Rand
	if torn {
		half = random
	}
	left = fs.Cut("store.db", half)
	w.end()
	return w.acked, left
}

// TestPowerCut cuts the power in the middle of commits: of what was not synced nothing is left, or each sector with
// probability one half. Every commit that was acknowledged is there, whole, and the file is in order.
func TestPowerCut(t *testing.T) {
	rounds := 4
	if *long {
		rounds = 50
	}
	seed, total := rand.Uint64(), 0
	for round := range rounds {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		torn := round%2 == 1
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			acked, left := cut(t, random, torn)
			if lost, err := survived(t, left, acked); err != nil || lost > 0 {
				t.Errorf("seed %d, torn %t: of %d acknowledged commits %d are lost: %v",
					seed, torn, len(acked), lost, err)
			}
			total += len(acked)
		})
	}
	t.Logf("%d power cuts, %d acknowledged commits", rounds, total)
}

// TestPowerCutIsNoticed is the control: a store that does not sync loses acknowledged commits, or its file. Now and
// then it is lucky: the file has just grown, which is synced, or the sectors that count are among those that are left.
func TestPowerCutIsNoticed(t *testing.T) {
	for _, torn := range []bool{false, true} {
		noticed := false
		for round := uint64(0); round < 10 && !noticed; round++ {
			acked, left := cut(t, rand.New(rand.NewPCG(1, round)), torn, "nosync")
			lost, err := survived(t, left, acked)
			noticed = err != nil || lost > 0
		}
		if !noticed {
			t.Errorf("torn %t: a store that does not sync lost nothing in ten power cuts", torn)
		}
	}
}

// TestDiskFails has a write, or a sync, fail at a moment: the commit under way fails, nothing is acknowledged that is
// not on the disk, and the next start finds all that was.
func TestDiskFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    faultfs.Op
		errno syscall.Errno
		ever  bool // from then on, rather than once
	}{
		{"the disk is full", faultfs.Write, syscall.ENOSPC, true},
		{"a write fails", faultfs.Write, syscall.EIO, false},
		{"a sync fails once", faultfs.Sync, syscall.EIO, false},
		{"syncs fail", faultfs.Sync, syscall.EIO, true},
		{"a sync finds the disk full", faultfs.Sync, syscall.ENOSPC, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, dir := disk(t)
			w := write(t, dir, "0")
			for range 20 {
				if !w.next(t) {
					t.Fatal("the child ended by itself")
				}
			}
			first, failed := 0, make(chan struct{}, 1)
			fs.Fail(func(op faultfs.Op, nth int) syscall.Errno {
				if op != c.op || first > 0 && nth > first && !c.ever {
					return 0
				}
				if first == 0 {
					first = nth
					failed <- struct{}{}
				}
				return c.errno
			})
			for w.next(t) { // the child ends with its first error
			}
			w.end()
			select {
			case <-failed:
			default:
				t.Fatal("the disk was never asked to do it")
			}
			if lost, err := survived(t, fs.Cut("store.db", nil), w.acked); err != nil || lost > 0 {
				t.Errorf("of %d acknowledged commits %d are lost: %v", len(w.acked), lost, err)
			}
		})
	}
}
