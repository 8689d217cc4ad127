package boltstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPlace: CheckPlace and Open agree on where a store can be, say what to do, and leave nothing behind where it
// cannot.
func TestPlace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, err := range []error{
		os.WriteFile(in("text"), []byte(strings.Repeat("no store\n", 1000)), 0o600),
		os.WriteFile(in("empty"), nil, 0o600),
		os.Symlink(in("loop"), in("loop")), os.Symlink("none/x.db", in("dangling")), os.Symlink("made.db", in("link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		want error
		says string
	}{
		{folder, ErrNotStore, "such as " + in("countersign.db")},
		{in("none/x.db"), ErrPlace, "the folder " + in("none") + " is not there; create it first"},
		{in("none") + "/", ErrPlace, ""},
		{in("dangling"), ErrPlace, "the folder " + in("none") + " is not there; create it first"},
		{in("loop"), ErrPlace, in("loop")},
		{in("text/x.db"), ErrPlace, in("text") + " is no folder"},
		{in("text"), ErrNotStore, "name another file"},
		{in(strings.Repeat("long", 100)), ErrPlace, ""},
		{in("nul\x00"), ErrPlace, ""},
		{in("empty"), nil, ""},
		{in("link"), nil, ""},
		{in("new.db"), nil, ""},
	} {
		if err := CheckPlace(c.path); !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %v that says %q", c.path, err, c.want, c.says)
		}
		if c.want == nil {
			continue
		}
		before := fmt.Sprint(os.ReadDir(folder))
		if s, err := Open(c.path, Config{}); !errors.Is(err, c.want) {
			t.Errorf("%q: Open says %v, want %v", c.path, err, c.want)
			if err == nil {
				s.Close()
			}
		}
		if after := fmt.Sprint(os.ReadDir(folder)); after != before {
			t.Errorf("%q: left behind %s, before %s", c.path, after, before)
		}
	}
	s := open(t, in("store.db"))
	if err := CheckPlace(s.Path()); err != nil { // in use
		t.Errorf("a store: %v", err)
	}
}

// TestPlaceErrors tells the system's errors about a path from those about what is going on.
func TestPlaceErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		syscall.EACCES: true, syscall.EPERM: true, syscall.EROFS: true, syscall.ENOENT: true, syscall.ENOTDIR: true,
		syscall.EIO: false, syscall.ENOSPC: false, syscall.EMFILE: false, syscall.EINTR: false,
	} {
		got := openError("x.db", false, &os.PathError{Op: "open", Path: "x.db", Err: err})
		if errors.Is(got, ErrPlace) != want || !errors.Is(got, err) && !errors.Is(got, os.ErrPermission) {
			t.Errorf("%v: %v is ErrPlace: %v, want %v", err, got, !want, want)
		}
	}
}

// TestPlaceUnwritable is about a folder in which this user may make nothing.
func TestPlaceUnwritable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everything")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "store.db")
	if err := CheckPlace(path); !errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(path, Config{}); !errors.Is(err, ErrPlace) {
		t.Errorf("Open: %v", err)
	}
}
