package boltstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"countersign/store/boltstore"
)

// TestReplace puts a file in the place of a store, and keeps what was there.
func TestReplace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, from, aside := filepath.Join(folder, "a.db"), filepath.Join(folder, "b"), filepath.Join(folder, "c")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name, want string) {
		t.Helper()
		got, err := os.ReadFile(name)
		if string(got) != want || err != nil && want != "" {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(name), got, err, want)
		}
	}
	write(from, "new")
	if err := boltstore.Replace(path, from, ""); err != nil {
		t.Fatal(err)
	}
	expect(path, "new")
	expect(from, "")
	write(from, "newer")
	if err := boltstore.Replace(path, from, ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v, want ErrExist", err)
	}
	expect(path, "new")
	link := filepath.Join(folder, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := boltstore.Replace(link, from, aside); err != nil {
		t.Fatal(err)
	}
	expect(path, "newer")
	expect(link, "newer")
	expect(aside, "new")
	write(from, "newest")
	if err := boltstore.Replace(path, from, aside); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over what was kept: %v, want ErrExist", err)
	}
	expect(path, "newer")
	expect(aside, "new")
}

// TestReplaceByADanglingLink: a symbolic link to a store that is gone leads to the new one, as it leads to the one that
// Open makes.
func TestReplaceByADanglingLink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	disk, link := filepath.Join(folder, "disk"), filepath.Join(folder, "a.db")
	from, made := filepath.Join(disk, "b"), filepath.Join(disk, "real.db")
	for _, err := range []error{
		os.Mkdir(disk, 0o700), os.WriteFile(from, []byte("new"), 0o600),
		os.Symlink(filepath.Join("disk", "real.db"), link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := boltstore.Replace(link, from, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(made); string(got) != "new" {
		t.Errorf("the link leads to %q, %v", got, err)
	}
	if to, err := os.Readlink(link); to != filepath.Join("disk", "real.db") {
		t.Errorf("the link is %q, %v", to, err)
	}
}

// TestReplaceInUse replaces no store that somebody has open.
func TestReplaceInUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, from, aside := filepath.Join(folder, "a.db"), filepath.Join(folder, "b"), filepath.Join(folder, "c")
	st, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := os.WriteFile(from, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := boltstore.Replace(path, from, aside); !errors.Is(err, boltstore.ErrInUse) {
		t.Errorf("%v, want ErrInUse", err)
	}
	if _, err := os.Stat(aside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is aside: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := boltstore.Replace(path, from, aside); err != nil {
		t.Errorf("after it was closed: %v", err)
	}
}
