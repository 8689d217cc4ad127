package boltstore

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// small is a disk that takes so many writes.
type small struct {
	bytes.Buffer
	writes int
}

func (f *small) Write(p []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		return 0, &fs.PathError{Op: "write", Path: "copy", Err: syscall.ENOSPC}
	}
	return f.Buffer.Write(p)
}

// TestBackupSaysWhatTheWriterSays: whichever write fails, callers find out why, and which file could not be written.
func TestBackupSaysWhatTheWriterSays(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "a.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for writes := range 10 {
		_, err := s.Backup(t.Context(), &small{writes: writes})
		if err == nil && writes > 2 {
			return
		}
		failed, ok := errors.AsType[*fs.PathError](err)
		if !ok || failed.Path != "copy" || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("after %d writes: %v", writes, err)
		}
	}
	t.Error("no backup had room")
}
