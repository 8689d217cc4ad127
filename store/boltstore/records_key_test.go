package boltstore

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestKeyOrder checks that keys compare as lists of parts do, and that parts come back.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOf(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0xff, 0x1f4b8}))
		a := rapid.SliceOfN(part, 1, 3).Draw(t, "a")
		b := rapid.SliceOfN(part, 1, 3).Draw(t, "b")
		if got, want := bytes.Compare(key(a...), key(b...)), slices.Compare(a, b); got != want {
			t.Errorf("%q and %q compare %d, their keys %d", a, b, want, got)
		}
		var parts []string
		for k := key(a...); len(k) > 0; {
			p, rest, ok := cutPart(k)
			if !ok {
				t.Fatalf("%q: no part in %q", a, k)
			}
			parts, k = append(parts, p), rest
		}
		if !slices.Equal(a, parts) || lastPart(key(a...)) != a[len(a)-1] {
			t.Errorf("%q came back as %q", a, parts)
		}
	})
}

func TestInstant(t *testing.T) {
	t.Parallel()
	times := []time.Time{{}, time.Unix(-5, 0), time.Unix(0, 1), time.Unix(1, 0), time.Unix(1<<31, 0),
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if !slices.IsSortedFunc(times, func(a, b time.Time) int {
		return bytes.Compare(appendNumber(nil, instant(a)), appendNumber(nil, instant(b)))
	}) {
		t.Error("instants are out of order")
	}
	at := time.Unix(1_700_000_000, 123)
	if got := timeOf(appendNumber(nil, instant(at))); !got.Equal(at) {
		t.Errorf("%v came back as %v", at, got)
	}
}
