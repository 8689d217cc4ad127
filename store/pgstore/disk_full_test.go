package pgstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/faultfs"
	"countersign/internal/pgdev"
)

// smallDisk mounts a disk of so many megabytes, in memory, whose owner is that of the folder, and returns a function
// that gives it more. It takes root; without, the test is skipped, unless it is required.
func smallDisk(t *testing.T, megabytes int, ownerOf string) (dir string, grow func(megabytes int)) {
	t.Helper()
	mount, err := os.MkdirTemp("", "countersign-disk-") // not that of the test, which nobody else may enter
	if err != nil {
		t.Fatal(err)
	}
	size := func(flags uintptr, megabytes int) error {
		return syscall.Mount("tmpfs", mount, "tmpfs", flags, fmt.Sprintf("size=%dm,mode=0755", megabytes))
	}
	if err := size(0, megabytes); err != nil {
		os.Remove(mount)
		if faultfs.Required(*long) {
			t.Fatalf("a full disk of the database takes root: mount: %v", err)
		}
		t.Skipf("SKIPPED, a full disk of the database is not tested here: mount: %v", err)
	}
	t.Cleanup(func() { // the server uses it up to its own end
		if err := errors.Join(syscall.Unmount(mount, syscall.MNT_DETACH), os.Remove(mount)); err != nil {
			t.Error(err)
		}
	})
	owner, err := os.Stat(ownerOf)
	if err != nil {
		t.Fatal(err)
	}
	stat := owner.Sys().(*syscall.Stat_t)
	dir = filepath.Join(mount, "tables")
	if err := errors.Join(os.Chmod(mount, 0o755), os.Mkdir(dir, 0o700),
		os.Chown(dir, int(stat.Uid), int(stat.Gid))); err != nil {
		t.Fatal(err)
	}
	return dir, func(megabytes int) {
		if err := size(syscall.MS_REMOUNT, megabytes); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFull: when the disk that holds the tables is full, who writes is told so at once and nothing of it is there,
// what was committed is, and everything goes on when there is room, with nothing started again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	server := pgdev.Own(t, pgdev.Options{})
	dir, grow := smallDisk(t, 32, filepath.Dir(server.Socket()))
	server.Exec(t, "postgres", "create tablespace small location '"+dir+"'")
	server.Exec(t, "postgres", "create database small tablespace small")
	s := openStore(t, server.URL("small"), Config{})
	write := func(id string) error {
		bytes := make([]byte, 100<<10) // which cannot be compressed
		rand.NewChaCha8(sha256.Sum256([]byte(id))).Read(bytes)
		return s.Update(t.Context(), func(tx approvals.Tx) error {
			return errors.Join(
				tx.PutEffect(&approvals.EffectRecord{Workspace: "T1", Run: "run_1", ID: id,
					Output: &agent.ToolOutput{Text: fmt.Sprintf("%x", bytes)}}),
				tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: id}))
		})
	}
	written, full := 0, error(nil)
	for ; full == nil && written < 1000; written++ {
		full = write(fmt.Sprint(written))
	}
	written--
	if full == nil || !strings.Contains(full.Error(), "disk is full") || errors.Is(full, approvals.ErrCommitUnknown) {
		t.Fatalf("after %d writes: %v", written, full)
	}
	var all sync.WaitGroup // those who share a transaction are told, each of them
	for i := range 8 {
		all.Go(func() {
			id := fmt.Sprint("many", i)
			err := write(id)
			if err != nil && !strings.Contains(err.Error(), "disk is full") {
				t.Error(err)
			}
			if there := hasEffect(t, s, id); there != (err == nil) {
				t.Errorf("told %v, and written: %v", err, there)
			}
		})
	}
	all.Wait()
	for i := range written {
		if !hasEffect(t, s, fmt.Sprint(i)) {
			t.Errorf("write %d of %d was acknowledged and is gone", i, written)
		}
	}
	if hasEffect(t, s, fmt.Sprint(written)) {
		t.Error("what was refused is there")
	}
	grow(128)
	if err := write("afterwards"); err != nil || !hasEffect(t, s, "afterwards") {
		t.Errorf("with room again: %v", err)
	}
}
