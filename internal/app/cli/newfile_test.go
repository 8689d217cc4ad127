package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/app"
)

// TestInterrupted: a restore that a signal cuts off leaves nothing behind, and its error says how things stand, not
// that a context was cancelled.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(file, []byte("a backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&restoreCommand{File: file}).replace(ctx, &Program{}, filepath.Join(dir, "countersign.db"), "")
	err = interrupted(err, "the store is as it was")
	if !errors.Is(err, context.Canceled) || err.Error() != "interrupted: the store is as it was" {
		t.Errorf("the error: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	other := errors.New("the disk is full")
	if err := interrupted(other, "x"); err != other {
		t.Errorf("the control: %v", err)
	}
}

// TestNowhereToWrite: where a file cannot be made the error names it and its folder, and a person mends it; nothing is
// written before.
func TestNowhereToWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		in("absent/copy.db"):            "the folder " + in("absent") + " is not there",
		in("text/copy.db"):              in("text") + " is no folder",
		in("absent") + "/":              "names a folder; name a file",
		"/proc/countersign-absent/x.db": "the folder /proc/countersign-absent is not there",
	} {
		err := writeNew(path, func(*os.File) error {
			t.Errorf("%s is written", path)
			return nil
		})
		if !errors.Is(err, app.ErrConfig) || !strings.HasPrefix(err.Error(), path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one that says %q", path, err, want)
		}
	}
	for _, c := range []struct {
		is     error
		mended bool
	}{{syscall.EACCES, true}, {syscall.EROFS, true}, {syscall.ENOSPC, false}, {syscall.EIO, false}} {
		err := unmade("copy.db", &os.PathError{Op: "open", Path: ".copy.db-1234", Err: c.is})
		if errors.Is(err, app.ErrConfig) != c.mended || !errors.Is(err, c.is) ||
			strings.Contains(err.Error(), "1234") {
			t.Errorf("%v: %v, one that a person mends: want %v", c.is, err, c.mended)
		}
	}
}

// TestNoRoom: where a file cannot be written the error names the file that was asked for and not the one that was to
// become it, says that nothing was made, and what to do.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "copy.db")
	err := writeNew(path, func(f *os.File) error {
		return fmt.Errorf("back up store: %w", &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC})
	})
	const want = " cannot be written: no space left on device; nothing was made: make room there first"
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != path+want {
		t.Errorf("no room: %v", err)
	}
	other := errors.New("the database is away")
	if err := writeNew(path, func(*os.File) error { return other }); err != other {
		t.Errorf("the control: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestUnreadableBackup: a file that this user may not read is told before anything is done, as a person's to mend.
func TestUnreadableBackup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, nil, 0o200); err != nil {
		t.Fatal(err)
	}
	err := (&restoreCommand{File: path}).checkFile()
	if err == nil || !strings.Contains(err.Error(), "this user must be able to read "+path) {
		t.Errorf("%v", err)
	}
}
