package bot

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestRunnersStay runs functions one after the other, then many at once: the first take turns on one goroutine, the
// others have one each, of which a bounded number stays. A goroutine that were left at the end would fail the test.
func TestRunnersStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRunners()
		ran := 0
		for range 10 {
			r.run(func() { ran++ })
			synctest.Wait()
		}
		if ran != 10 || len(r.spare) != 1 {
			t.Errorf("%d ran, %d goroutines are spare; want 10, 1", ran, len(r.spare))
		}
		var mu sync.Mutex
		release := make(chan struct{})
		for range 3 * mostSpare {
			r.run(func() {
				mu.Lock()
				ran++
				mu.Unlock()
				<-release
			})
		}
		synctest.Wait()
		if want := 10 + 3*mostSpare; ran != want || len(r.spare) != 0 {
			t.Errorf("%d have begun, %d goroutines are spare; want %d, 0", ran, len(r.spare), want)
		}
		close(release)
		synctest.Wait()
		if len(r.spare) != mostSpare {
			t.Errorf("%d goroutines are spare, want %d", len(r.spare), mostSpare)
		}
		r.end()
	})
}

// TestRunnersOutliveWhatEnds has functions that end their goroutine: what follows runs all the same.
func TestRunnersOutliveWhatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRunners()
		ran := false
		for range mostSpare + 1 { // each ends a goroutine that has waited
			r.run(func() {})
			synctest.Wait()
			r.run(runtime.Goexit)
			synctest.Wait()
		}
		r.run(func() { ran = true })
		synctest.Wait()
		if n := len(r.spare); n != 1 {
			t.Errorf("%d goroutines count as waiting, want the one that does", n)
		}
		r.end()
		if !ran {
			t.Error("it did not run")
		}
	})
}
