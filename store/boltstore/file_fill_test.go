package boltstore

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"countersign/approvals"
)

// hollow is a file that notes how far it was filled, or fails.
type hollow struct {
	io.WriterAt
	filled int64
	writes int
	err    error
}

func (h *hollow) WriteAt(p []byte, off int64) (int, error) {
	if h.err != nil {
		return 0, h.err
	}
	h.filled, h.writes = max(h.filled, off+int64(len(p))), h.writes+1
	return h.WriterAt.WriteAt(p, off)
}

// TestHolesAreFilledBeforeTheyAreNeeded has a file grow and looks, after each commit, whether its end had been filled
// as far as that commit came.
func TestHolesAreFilledBeforeTheyAreNeeded(t *testing.T) {
	s := open(t, newPath(t))
	h := &hollow{WriterAt: s.file}
	s.hole.file = h
	const commits = 400
	unfilled := 0
	for i := range commits {
		before := high(t, s)
		entry := &approvals.AuditEntry{
			Workspace: "T1", Seq: uint64(i + 1), Action: approvals.AuditEffectIntent, Actor: strings.Repeat("a", 8<<10),
		}
		if err := s.Update(t.Context(), func(tx approvals.Tx) error { return tx.AppendAudit(entry) }); err != nil {
			t.Fatal(err)
		}
		if after := high(t, s); after > before && h.filled < after {
			unfilled++ // the file had to grow within the commit
		}
	}
	if end := high(t, s); end < 1<<20 {
		t.Fatalf("the file holds %d bytes: too few for a test of its growth", end)
	}
	// A file grows by a sixteenth: each time one commit writes into the hole that it has just made.
	if unfilled > commits/4 || h.writes > commits/4 {
		t.Errorf("of %d commits %d wrote into a hole, and %d filled one", commits, unfilled, h.writes)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error("after its holes were filled:", err)
	}
}

// TestFillingFails: no room is no failure of a commit that needs none, any other error is one.
func TestFillingFails(t *testing.T) {
	for _, c := range []struct {
		err  error
		fail bool
	}{{syscall.ENOSPC, false}, {syscall.EDQUOT, false}, {syscall.EIO, true}} {
		f := filler{file: &hollow{err: c.err}, size: func() (int64, error) { return 1 << 20, nil }}
		if err := f.ahead(4096); (err != nil) != c.fail || c.fail && !errors.Is(err, c.err) {
			t.Errorf("the disk says %v while a hole is filled, and the commit gets %v", c.err, err)
		}
	}
}

// TestFilledOnce: what was filled, or is behind the end of the file, is not written.
func TestFilledOnce(t *testing.T) {
	h := &hollow{WriterAt: discard{}}
	size := int64(fillStretch + fillStretch/2)
	f := filler{file: h, size: func() (int64, error) { return size, nil }}
	for _, step := range []struct{ used, filled int64 }{
		{0, fillStretch},
		{4096, fillStretch},
		{fillStretch - fillLeast, fillStretch},
		{fillStretch - fillLeast + 1, size},
		{size, size},
		{size + 4096, size}, // the file is about to grow
	} {
		if err := f.ahead(step.used); err != nil || h.filled != step.filled {
			t.Errorf("%d bytes used: filled up to %d, want %d: %v", step.used, h.filled, step.filled, err)
		}
	}
	if h.writes != 2 {
		t.Errorf("%d writes, want 2", h.writes)
	}
}

type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// high returns how many bytes of the file are in use or were.
func high(t *testing.T, s *Store) int64 {
	t.Helper()
	btx, err := s.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer btx.Rollback()
	return btx.Size()
}
