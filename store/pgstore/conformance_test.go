package pgstore

import (
	"flag"
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
	storetest.Run(t, func(t testing.TB) storetest.Harness { return harnessOf(t, Config{Keys: testKeys(t, "a")}) })
}

func TestAgainstModel(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); !*long && f.Value.String() == f.DefValue {
		f.Value.Set("8")
	}
	t.Parallel()
	storetest.Compare(t, harness)
}

func harness(t testing.TB) storetest.Harness { return harnessOf(t, Config{}) }

func harnessOf(t testing.TB, cfg Config) storetest.Harness {
	url := newURL(t)
	return storetest.Harness{Open: func() approvals.Store { return openStore(t, url, cfg) }}
}
