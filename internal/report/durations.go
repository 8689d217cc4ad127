package report

import (
	"math"
	"slices"
	"time"
)

// durations are how long decided requests took, in microseconds: one is negative, less one, where it was rejected.
type durations struct{ took []int64 }

func (d *durations) add(took time.Duration, affirmed bool) {
	us := took.Microseconds()
	if !affirmed {
		us = -us - 1
	}
	d.took = append(d.took, us)
}

// plain returns the times alone.
func (d *durations) plain() []int64 {
	all := slices.Clone(d.took)
	for i, us := range all {
		if us < 0 {
			all[i] = -us - 1
		}
	}
	return all
}

func (d *durations) summary() Decided {
	var s Decided
	for _, us := range d.took {
		if us < 0 {
			s.Rejected++
		} else {
			s.Approved++
		}
	}
	s.Rate = share(s.Approved, len(d.took))
	all := d.plain()
	slices.Sort(all)
	s.Median, s.P95 = percentile(all, 50), percentile(all, 95)
	return s
}

// percentile returns, in seconds, the smallest of the sorted times that p of 100 of them do not exceed: the nearest
// rank, which is a time that occurred. nil for none.
func percentile(sorted []int64, p float64) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	rank := int(math.Ceil(float64(len(sorted)) * p / 100))
	s := float64(sorted[max(rank, 1)-1]) / 1e6
	return &s
}

// timeBounds divide the classes of TimeClass, in seconds.
var timeBounds = [...]float64{0, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600}

func (d *durations) classes() []TimeClass {
	all := make([]TimeClass, len(timeBounds))
	for i := range all {
		if all[i].AtLeast = timeBounds[i]; i > 0 {
			all[i-1].Below = timeBounds[i]
		}
	}
	for _, us := range d.took {
		rejected := us < 0
		if rejected {
			us = -us - 1
		}
		i := len(timeBounds) - 1
		for float64(us)/1e6 < timeBounds[i] {
			i--
		}
		if rejected {
			all[i].Rejected++
		} else {
			all[i].Approved++
		}
	}
	return all
}
