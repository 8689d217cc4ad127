package boltstore

import (
	"path/filepath"
	"testing"

	"countersign/approvals"
	"countersign/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func harness(t testing.TB) storetest.Harness {
	path := filepath.Join(t.TempDir(), "store.db")
	return storetest.Harness{Open: func() approvals.Store {
		s, err := Open(path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

func TestAgainstModel(t *testing.T) {
	t.Parallel()
	storetest.Compare(t, harness)
}
