package approvals

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestAnswersAreKept holds answers against a map, few of them and many.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	rapid.Check(t, func(t *rapid.T) {
		var kept answers[int, string]
		want := map[int]answer[string]{}
		keys := rapid.IntRange(0, rapid.SampledFrom([]int{2, mostFew, 4 * mostFew}).Draw(t, "keys"))
		for range rapid.IntRange(0, 6*mostFew).Draw(t, "puts") {
			a := answer[string]{value: rapid.String().Draw(t, "value")}
			if rapid.Bool().Draw(t, "fails") {
				a.err = failed
			}
			k := keys.Draw(t, "key")
			kept.put(k, a)
			want[k] = a
		}
		for k := -1; k <= 4*mostFew; k++ {
			a, ok := want[k]
			if !ok {
				a.err = errNotGathered
			}
			if v, err := look(kept, k); v != a.value || !errors.Is(err, a.err) || (err == nil) != (a.err == nil) {
				t.Fatalf("%d: have %q, %v; want %q, %v", k, v, err, a.value, a.err)
			}
		}
	})
}
