package pgstore

import (
	"testing"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

// TestConformanceEncrypted is TestConformance with keys.
func TestConformanceEncrypted(t *testing.T) {
	if !*long {
		t.Skip("with -long: TestSealedValues and TestMovedValue are the short form")
	}
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Harness { return harnessOf(t, Config{Keys: testKeys(t, "a")}) })
}

// TestAgainstModel compares with a model, also where every transaction is one that several could share.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	times := 4
	if *long {
		times = 40
	}
	for _, always := range []bool{false, true} {
		storetest.Compare(t, times, func(t testing.TB) storetest.Harness {
			return harnessOf(t, Config{always: always})
		})
	}
}

func harness(t testing.TB) storetest.Harness { return harnessOf(t, Config{}) }

func harnessOf(t testing.TB, cfg Config) storetest.Harness {
	url := ""
	if cfg.Keys == nil {
		url = pgdev.Start(t).Schema(t)
	} else {
		url = newURL(t) // a store is encrypted, or not, for ever
	}
	return storetest.Harness{Open: func() approvals.Store { return openStore(t, url, cfg) }}
}
