package gopool

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

const spare = 8

// TestGoroutinesStay runs functions one after the other, then many at once: the first take turns on one goroutine, the
// others have one each, of which a bounded number stays. A goroutine that were left at the end would fail the test.
func TestGoroutinesStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(spare)
		ran := 0
		for range 10 {
			p.Go(func() { ran++ })
			synctest.Wait()
		}
		if ran != 10 || len(p.spare) != 1 {
			t.Errorf("%d ran, %d goroutines are spare; want 10, 1", ran, len(p.spare))
		}
		var mu sync.Mutex
		release := make(chan struct{})
		for range 3 * spare {
			p.Go(func() {
				mu.Lock()
				ran++
				mu.Unlock()
				<-release
			})
		}
		synctest.Wait()
		if want := 10 + 3*spare; ran != want || len(p.spare) != 0 {
			t.Errorf("%d have begun, %d goroutines are spare; want %d, 0", ran, len(p.spare), want)
		}
		close(release)
		synctest.Wait()
		if len(p.spare) != spare {
			t.Errorf("%d goroutines are spare, want %d", len(p.spare), spare)
		}
		p.Close()
	})
}

// TestPoolOutlivesWhatEnds has functions that end their goroutine: what follows runs all the same.
func TestPoolOutlivesWhatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(spare)
		ran := false
		for range spare + 1 { // each ends a goroutine that has waited
			p.Go(func() {})
			synctest.Wait()
			p.Go(runtime.Goexit)
			synctest.Wait()
		}
		p.Go(func() { ran = true })
		synctest.Wait()
		if n := len(p.spare); n != 1 {
			t.Errorf("%d goroutines count as waiting, want the one that does", n)
		}
		p.Close()
		if !ran {
			t.Error("it did not run")
		}
	})
}
