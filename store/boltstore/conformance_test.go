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

// TestConformanceEncrypted is TestConformance with keys.
func TestConformanceEncrypted(t *testing.T) {
	t.Parallel()
	storetest.Run(t, encryptedHarness)
}

func harness(t testing.TB) storetest.Harness { return harnessOf(t, Config{}) }

func encryptedHarness(t testing.TB) storetest.Harness {
	return harnessOf(t, Config{Keys: testKeys(t, "a")})
}

func harnessOf(t testing.TB, cfg Config) storetest.Harness {
	path := filepath.Join(t.TempDir(), "store.db")
	return storetest.Harness{Open: func() approvals.Store {
		s, err := Open(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

func TestAgainstModel(t *testing.T) {
	t.Parallel()
	storetest.Compare(t, 100, harness)
}
