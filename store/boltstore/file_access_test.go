//go:build unix

package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// ownerAndMode are those of a file.
func ownerAndMode(t *testing.T, path string) (uid, gid uint32, mode os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%s: %+v", path, info.Sys())
	}
	return stat.Uid, stat.Gid, info.Mode().Perm()
}

// TestSuperuserInSomebodysFolder: where the superuser brings a store to a service's folder, the service opens it.
func TestSuperuserInSomebodysFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	folder := t.TempDir()
	if err := os.Chown(folder, 12345, 23456); err != nil {
		t.Fatal(err)
	}
	made, brought, from := filepath.Join(folder, "a.db"), filepath.Join(folder, "b.db"), filepath.Join(folder, "c")
	open(t, made).Close()
	if err := os.WriteFile(from, []byte("a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(brought, from, ""); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{made, brought} {
		if uid, gid, mode := ownerAndMode(t, path); uid != 12345 || gid != 23456 || mode != 0o600 {
			t.Errorf("%s belongs to %d:%d, %s", path, uid, gid, mode)
		}
	}
}

// TestNewFileKeepsTheRights: where a group works with the store, because each start has a user of its own, it still can
// when the file is another one. The rest of the world is let in by nobody but an operator.
func TestNewFileKeepsTheRights(t *testing.T) {
	t.Parallel()
	for was, want := range map[os.FileMode]os.FileMode{0o660: 0o660, 0o600: 0o600, 0o644: 0o640} {
		path, _ := sampleFile(t)
		if err := os.Chmod(path, was); err != nil {
			t.Fatal(err)
		}
		if _, err := Compact(t.Context(), path, CompactConfig{}); err != nil {
			t.Fatal(err)
		}
		if _, _, mode := ownerAndMode(t, path); mode != want {
			t.Errorf("%s: compacted %s, want %s", was, mode, want)
		}
		from := path + ".new"
		if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, from, path+".old"); err != nil {
			t.Fatal(err)
		}
		if _, _, mode := ownerAndMode(t, path); mode != want {
			t.Errorf("%s: replaced %s, want %s", was, mode, want)
		}
	}
}

// TestFolderThatCannotBeRead: a name in it cannot be made to last, so no store is made there, and a person mends it.
func TestFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o700) // so that it can be removed
	path := filepath.Join(folder, "store.db")
	if err := CheckPlace(path); !errors.Is(err, ErrPlace) {
		t.Errorf("CheckPlace: %v", err)
	}
	if _, err := Open(path, Config{}); !errors.Is(err, ErrPlace) {
		t.Errorf("Open: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was left behind")
	}
}
