package storetest

import "testing"

func inMemory(testing.TB) Harness {
	return Harness{Open: NewMemory().Open, Scans: true}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	Run(t, inMemory)
}
