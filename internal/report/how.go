package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"countersign/approvals"
)

// manner is what settled a request.
type manner int

const (
	byNobody manner = iota // it ended without an answer
	byPeople
	byStanding
	byEmergency
	byCallback
)

// how says what approved or rejected the request.
func how(r *approvals.RequestHead) manner {
	d := r.Settler()
	switch {
	case r.Status != approvals.RequestApproved && r.Status != approvals.RequestRejected:
		return byNobody
	case emergency(r) != nil:
		return byEmergency
	case d != nil && d.Standing != nil:
		return byStanding
	case d != nil && d.Via == approvals.ViaCallback:
		return byCallback
	}
	return byPeople
}

// emergency returns the decision past the policy, or nil.
func emergency(r *approvals.RequestHead) *approvals.Decision {
	for i := range r.Decisions {
		if d := &r.Decisions[i]; d.Verdict == approvals.BreakGlass && d.Void == "" {
			return d
		}
	}
	return nil
}

// asks says since when the request has waited.
func asks(r *approvals.RequestHead) time.Time {
	if r.Asked.IsZero() {
		return r.Created
	}
	return r.Asked
}

// answered says when the request ceased to wait for people; far in the future while it waits. An approval that became
// stale later had ended the waiting when its last vote came.
func answered(r *approvals.RequestHead) time.Time {
	switch r.Status {
	case approvals.RequestPending:
		return time.Unix(1<<40, 0)
	case approvals.RequestStale:
		var last time.Time
		votes := 0
		for i := range r.Decisions {
			if d := &r.Decisions[i]; d.Void == "" && d.Verdict.Affirms() {
				votes++
				last = later(last, d.At)
			}
		}
		if votes > 0 && votes >= len(r.Requirement.Seats) || emergency(r) != nil {
			return last
		}
	}
	return r.Settled
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waited says how long the request had waited then, and nothing less than no time at all: clocks can be set back.
func waited(r *approvals.RequestHead, then time.Time) time.Duration { return max(0, then.Sub(asks(r))) }

func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// share returns part of whole, nil when that is nothing.
func share(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	s := float64(part) / float64(whole)
	return &s
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
