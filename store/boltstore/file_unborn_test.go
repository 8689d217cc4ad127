package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// TestUnborn starts on what is left of a process that was killed while it made the file, and on nothing else.
func TestUnborn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "born.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := db.Info().PageSize
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	born, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := openWith(t, path, nil); err != nil { // the first commits
		t.Fatal(err)
	}
	grown, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string
		content []byte
		want    error
	}{
		{"nothing was written", born[:0], nil},
		{"one of four pages was", born[:page], nil},
		{"two were", born[:2*page], nil},
		{"three were", born[:3*page], nil},
		{"all were", born, nil},
		{"the length was, and no content", make([]byte, 4*page), nil},
		{"control: the file had been committed to, and was cut to a page", grown[:page], boltstore.ErrDamaged},
		{"control: cut to two pages", grown[:2*page], boltstore.ErrDamaged},
		{"control: cut to its first bytes, which are zeros", grown[:4], boltstore.ErrNotStore},
		{"control: a long file of zeros was never made by us", make([]byte, 64*page), boltstore.ErrNotStore},
		{"control: something else", bytes.Repeat([]byte("text "), 100), boltstore.ErrNotStore},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			if err := openWith(t, filepath.Join(t.TempDir(), "s.db"), c.content); !errors.Is(err, c.want) {
				t.Errorf("open: %v, want %v", err, c.want)
			}
		})
	}
}

// openWith opens a store on the content, writes to it and closes it.
func openWith(t *testing.T, path string, content []byte) error {
	t.Helper()
	if content != nil {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	for range 2 { // both heads
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			return tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunQueued,
				Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
