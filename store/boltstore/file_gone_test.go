package boltstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileTakenAway: nothing counts as recorded that goes into a file which its path does not name any more, and what
// is in it is not lost.
func TestFileTakenAway(t *testing.T) {
	t.Parallel()
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	another := func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		take func(t *testing.T, path string)
		says string
		kept string // where the records are then; empty: in the copy that was made
	}{
		"moved": {func(t *testing.T, p string) { move(t, p, p+".old") }, "nothing is in", ".old"},
		"moved and replaced": {
			func(t *testing.T, p string) { move(t, p, p+".old"); another(t, p) }, "another file", ".old",
		},
		"deleted":              {remove, "nothing is in", ""},
		"deleted and replaced": {func(t *testing.T, p string) { remove(t, p); another(t, p) }, "another file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			s := open(t, path)
			defer s.Close()
			if err := s.Update(t.Context(), put(1)); err != nil {
				t.Fatal("control: ", err)
			}
			c.take(t, path)
			before, _ := os.ReadFile(path)
			err := s.Update(t.Context(), put(2))
			if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("after it was taken away: %v", err)
			}
			if again := s.Update(t.Context(), put(3)); !errors.Is(again, ErrGone) {
				t.Errorf("and then: %v", again)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("what is in its place was changed")
			}
			kept := path + c.kept
			if c.kept == "" {
				copies, _ := filepath.Glob(path + rescued + "*")
				if len(copies) != 1 || !strings.Contains(err.Error(), copies[0]) {
					t.Fatalf("copies %q, and it says %v", copies, err)
				}
				kept = copies[0]
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			old := open(t, kept)
			defer old.Close()
			if !has(t, old, 1) || has(t, old, 2) {
				t.Error("what was recorded is not there, or what was not is")
			}
		})
	}
}

// TestFileTakenAwayUnnoticed: where nothing was written since the file was taken away, the end of the program notices.
func TestFileTakenAwayUnnoticed(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove, "moved": func(path string) error { return os.Rename(path, path+".mine") },
	} {
		path := newPath(t)
		s := open(t, path)
		if err := s.Update(t.Context(), put(1)); err != nil {
			t.Fatal(err)
		}
		if err := take(path); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); !errors.Is(err, ErrGone) {
			t.Errorf("%s: Close: %v", name, err)
		}
		if empty, err := Open(path, Config{}); !errors.Is(err, ErrPlace) {
			t.Errorf("%s: the next start: %v", name, err)
			if err == nil {
				empty.Close()
			}
			continue
		}
		kept, _ := filepath.Glob(path + rescued + "*")
		if name == "moved" {
			kept = []string{path + ".mine"}
		}
		if len(kept) != 1 {
			t.Errorf("%s: kept: %q", name, kept)
			continue
		}
		old := open(t, kept[0])
		if !has(t, old, 1) {
			t.Errorf("%s: what was recorded is not there", name)
		}
		old.Close()
	}
}

// TestNoEmptyStoreBesideARescuedOne: who deletes the file of a running bot and starts it again is told where the
// records are, and gets no empty store.
func TestNoEmptyStoreBesideARescuedOne(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	defer s.Close()
	if err := s.Update(t.Context(), put(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), put(2)); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	for what, start := range map[string]func() error{
		"open":  func() error { _, err := Open(path, Config{}); return err },
		"check": func() error { return CheckPlace(path) },
	} {
		if err := start(); !errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), rescued) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty store was made")
	}
	copies, _ := filepath.Glob(path + rescued + "*")
	if err := os.Rename(copies[0], path); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	defer again.Close()
	if !has(t, again, 1) {
		t.Error("what was recorded is not there")
	}
}
