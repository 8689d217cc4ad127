package boltstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGiveName: a file gets a name that no other has, also where the file system has no hard links, and no rename that
// replaces nothing.
func TestGiveName(t *testing.T) {
	t.Parallel()
	refuse := func(errno error) func(from, to string) error {
		return func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: errno} }
	}
	for name, c := range map[string]struct{ link, rename func(from, to string) error }{
		"links":                      {os.Link, refuse(syscall.EIO)},
		"exFAT":                      {refuse(syscall.EPERM), renameNew},
		"a network":                  {refuse(syscall.EOPNOTSUPP), refuse(syscall.EINVAL)},
		"a file system in a process": {refuse(syscall.ENOSYS), refuse(syscall.ENOSYS)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
			for _, path := range []string{from, to} {
				if err := os.WriteFile(path, []byte(filepath.Base(path)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := giveName(from, to, c.link, c.rename); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file: %v, want ErrExist", err)
			}
			if got, err := os.ReadFile(to); string(got) != "to" {
				t.Errorf("the file that was there holds %q, %v", got, err)
			}
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			if err := giveName(from, to, c.link, c.rename); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(to); string(got) != "from" {
				t.Errorf("the file holds %q, %v", got, err)
			}
			if entries, _ := os.ReadDir(folder); len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
	folder := t.TempDir()
	full := giveName(filepath.Join(folder, "from"), filepath.Join(folder, "to"), refuse(syscall.ENOSPC), renameNew)
	if !errors.Is(full, syscall.ENOSPC) {
		t.Errorf("what is no lack of links: %v", full)
	}
}

// TestKeepAside: what a restore replaces is kept, also where a file has one name only.
func TestKeepAside(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, aside := filepath.Join(folder, "a.db"), filepath.Join(folder, "a.db.before")
	if err := os.WriteFile(path, []byte("what was there"), 0o640); err != nil {
		t.Fatal(err)
	}
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	linkless := func(string, string) error { return syscall.EPERM }
	if err := keepAside(old, path, aside, linkless); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(aside); string(got) != "what was there" {
		t.Errorf("kept is %q, %v", got, err)
	}
	if info, err := os.Stat(aside); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("kept as %v, %v", info, err)
	}
	if err := keepAside(old, path, aside, linkless); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v, want ErrExist", err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestAboveALink: what is above a folder that a symbolic link leads to is not what is above the link.
func TestAboveALink(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	disk := filepath.Join(top, "disk")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(disk, "data"), 0o700), os.Mkdir(filepath.Join(top, "here"), 0o700),
		os.Symlink(filepath.Join(disk, "data"), filepath.Join(top, "here", "link")),
		os.Symlink("link/../led.db", filepath.Join(top, "here", "a.db")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	above := filepath.Join(top, "here", "link") + "/../"
	if folder, err := Beside(filepath.Join(top, "here", "a.db")); err != nil || !sameFolder(t, folder, disk) {
		t.Errorf("the link leads into %s, %v; want %s", folder, err, disk)
	}
	from := filepath.Join(disk, "from")
	if err := os.WriteFile(from, []byte("brought"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(top, "here", "a.db"), from, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(disk, "led.db")); string(got) != "brought" {
		t.Errorf("what the link leads to: %q, %v", got, err)
	}
	s := open(t, above+"x.db")
	if err := s.Update(t.Context(), put(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(disk, "x.db")); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), put(2)); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if copies, _ := filepath.Glob(filepath.Join(disk, "x.db"+rescued+"*")); len(copies) != 1 {
		t.Errorf("copies %q", copies)
	}
	if err := CheckPlace(above + "x.db"); !errors.Is(err, ErrPlace) {
		t.Errorf("beside what was rescued: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(top, "here", "nothing")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(disk, "absent", "deep"), filepath.Join(top, "here", "gone")); err != nil {
		t.Fatal(err)
	}
	if err := CheckPlace(filepath.Join(top, "here", "gone") + "/../x.db"); !errors.Is(err, ErrPlace) {
		t.Errorf("above a link to nothing: %v", err)
	}
}

func sameFolder(t *testing.T, a, b string) bool {
	t.Helper()
	infoA, err := os.Stat(a)
	infoB, errB := os.Stat(b)
	return err == nil && errB == nil && os.SameFile(infoA, infoB)
}
