package boltstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"countersign/store/boltstore"
)

// TestCutInHalf cuts a young store in half: what was committed is missed, although the file is hardly used.
func TestCutInHalf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := openWith(t, path, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	if err := openWith(t, path, nil); !errors.Is(err, boltstore.ErrDamaged) {
		t.Errorf("a file of %d bytes, cut in half: %v", info.Size(), err)
	}
}
