package faultfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mounted returns a file system with one file, which is open.
func mounted(t *testing.T) (*FS, *os.File) {
	t.Helper()
	dir := t.TempDir()
	f, err := Mount(dir)
	if err != nil {
		if Required(false) {
			t.Fatalf("it takes root and /dev/fuse: %v", err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	f.Put("held", []byte("content"))
	file, err := os.Open(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	// A process that ends with a file of it open waits for itself.
	t.Cleanup(func() { file.Close() })
	return f, file
}

// TestUnmountWaits: a file that is closed late, as the kernel does it for a process that was killed on a busy machine,
// is waited for.
func TestUnmountWaits(t *testing.T) {
	f, file := mounted(t)
	time.AfterFunc(time.Second, func() { file.Close() }) // longer than the library waits
	if err := f.Unmount(); err != nil {
		t.Error(err)
	}
}

// TestUnmountGivesUp: a file that stays open makes it fail, and say who has it. The directory is free all the same.
func TestUnmountGivesUp(t *testing.T) {
	f, file := mounted(t)
	err := f.unmount(0)
	if !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), file.Name()) {
		t.Errorf("unmount: %v; want that %s is in use", err, file.Name())
	}
	if _, err := os.Stat(filepath.Join(f.dir, "held")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still seen in the directory: %v", err)
	}
}
