package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
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
