package report

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"countersign/approvals"
)

// BenchmarkMillion counts a million requests that people decided in the window, and says what is kept of them.
func BenchmarkMillion(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		builder := New(october)
		for i := range n {
			builder.Add(newRequest(fmt.Sprintf("req_%026d", i), noon.Add(time.Duration(i)*time.Second),
				decidedBy(fmt.Sprintf("U%d", i%50), approvals.Approve, time.Minute)))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B-kept/request")
		if r := builder.Report(); r.Asked.Requests > n {
			b.Fatal(r.Asked.Requests)
		}
	}
}
