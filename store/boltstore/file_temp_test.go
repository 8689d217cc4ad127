//go:build unix

package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namesIn lists a folder.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestLeftBehind: files that a killed process has left behind are removed by the next one that makes such a file, and
// by the next start. What is being written stays, and what only looks like it.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	under, err := CreateTemp(folder) // somebody else writes it
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	kept := []string{filepath.Base(under.Name()), ".countersign-new-mine", "countersign-new-1"}
	left := []string{".countersign-new-123", ".a.db-rescue-45", "a.db.moved-20261122T010203.456Z"}
	other := []string{".b.db-rescue-45", "b.db.moved-20261122T010203.456Z"} // of another store
	path := filepath.Join(folder, "a.db")
	open(t, path).Close()
	for _, name := range slices.Concat(kept[1:], left, other) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, err := CreateTemp(folder)
	if err != nil {
		t.Fatal(err)
	}
	names := namesIn(t, folder)
	if slices.Contains(names, left[0]) || !slices.Contains(names, left[1]) {
		t.Errorf("after another file was made: %q", names)
	}
	os.Remove(next.Name())
	next.Close()
	open(t, path).Close()
	want := slices.Sorted(slices.Values(slices.Concat(kept, other, []string{"a.db"})))
	if names := namesIn(t, folder); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("after a start: %q, want %q", names, want)
	}
}

// TestNoEmptyStoreBesideABrokenCopy: who deletes the file of a running bot and kills it while it copies it is told so.
func TestNoEmptyStoreBesideABrokenCopy(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	broken := filepath.Join(filepath.Dir(path), rescuePrefix(path)+"123")
	if err := os.WriteFile(broken, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(path, Config{}); !errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), broken) ||
			!strings.Contains(err.Error(), "put the newest backup back") {
			t.Errorf("Open: %v", err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty store was made")
	}
}

// TestNoEmptyStoreWhereOneWasMoved: who moves the file of a running bot away, and has it started again, gets no empty
// store, and goes on when the file is back.
func TestNoEmptyStoreWhereOneWasMoved(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	if err := s.Update(t.Context(), put(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".mine"); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), put(2)); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	s.Close()
	if again, err := Open(path, Config{}); !errors.Is(err, ErrPlace) ||
		!strings.Contains(err.Error(), "find it and move it back, or remove "+path+moved) {
		t.Errorf("Open: %v", err)
		if err == nil {
			again.Close()
		}
	}
	if err := os.Rename(path+".mine", path); err != nil {
		t.Fatal(err)
	}
	back := open(t, path)
	defer back.Close()
	if !has(t, back, 1) {
		t.Error("what was recorded is not there")
	}
	if names := namesIn(t, filepath.Dir(path)); slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(name, moved)
	}) {
		t.Errorf("left behind: %q", names)
	}
}
