package headroom

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// TestTheCollectorWaits reads the size of the heap at which the collector would run next.
func TestTheCollectorWaits(t *testing.T) {
	before := goal()
	release := Keep()
	kept := goal()
	release()
	if kept < before+size {
		t.Errorf("the heap is collected at %d bytes, and without headroom at %d", kept, before)
	}
}

// goal returns at which size, in bytes, the heap is collected after a collection that has just ended.
func goal() uint64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
