package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Figures is one measurement. The names of the JSON keys are those the peers' scripts print.
type Figures struct {
	Name         string  `json:"name"`
	Total        int     `json:"total"`
	Width        int     `json:"width"`
	PerSecond    float64 `json:"per_second"`
	PerCPUSecond float64 `json:"per_cpu_second"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	RSS          float64 `json:"rss_mb"`
}

// measure runs job total times with width of them under way at once, after a short warm-up. CPU time is this process's.
func measure(
	ctx context.Context, name string, total, width int, job func(ctx context.Context, i int) error,
) (Figures, error) {
	_, err := pool(ctx, min(2*width, 64), width, func(ctx context.Context, i int) error { return job(ctx, -1-i) })
	if err != nil {
		return Figures{}, err
	}
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	latencies, err := pool(ctx, total, width, job)
	if err != nil {
		return Figures{}, err
	}
	wall, used := time.Since(start), cpuTime()-cpu
	slices.Sort(latencies)
	return Figures{
		Name: name, Total: total, Width: width,
		PerSecond:    float64(total) / wall.Seconds(),
		PerCPUSecond: float64(total) / used.Seconds(),
		P50:          ms(quantile(latencies, 0.50)),
		P99:          ms(quantile(latencies, 0.99)),
		RSS:          peakRSS(),
	}, nil
}

func pool(ctx context.Context, total, width int, job func(ctx context.Context, i int) error) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latencies := make([]time.Duration, total)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range width {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= total || ctx.Err() != nil {
					return
				}
				t := time.Now()
				if err := job(ctx, i); err != nil {
					cancel(err)
					return
				}
				latencies[i] = time.Since(t)
			}
		})
	}
	wg.Wait()
	return latencies, context.Cause(ctx)
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cpuTime returns the user and system time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS returns the peak resident set of this process in MB. What getrusage says would start at that of the parent.
func peakRSS() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kB float64
	_, _ = fmt.Sscan(string(rest), &kB) // stays zero when the system does not say
	return kB / 1024
}

// median returns the element in the middle when the figures are ordered by better.
func median(all []Figures) Figures {
	slices.SortFunc(all, func(a, b Figures) int {
		switch {
		case a.PerCPUSecond < b.PerCPUSecond:
			return -1
		case a.PerCPUSecond > b.PerCPUSecond:
			return 1
		}
		return 0
	})
	return all[len(all)/2]
}
