package storetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTree compares a tree with a map, and checks that trees from before a change do not notice it.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var now *tree
		model := map[string]byte{}
		type snapshot struct {
			tree  *tree
			model map[string]byte
		}
		var old []snapshot
		keys := rapid.StringMatching(`[a-c]{0,4}`)
		for range rapid.IntRange(0, 60).Draw(r, "steps") {
			old = append(old, snapshot{now, maps.Clone(model)})
			k := keys.Draw(r, "key")
			if rapid.Bool().Draw(r, "delete") {
				now = now.delete(k)
				delete(model, k)
			} else {
				b := rapid.Byte().Draw(r, "value")
				now = now.put(k, &value{data: []byte{b}})
				model[k] = b
			}
		}
		start := keys.Draw(r, "start")
		for _, s := range append(old, snapshot{now, model}) {
			var want, got []string
			for _, k := range slices.Sorted(maps.Keys(s.model)) {
				if k >= start {
					want = append(want, k)
				}
			}
			for k, v := range s.tree.from(start) {
				got = append(got, k)
				if v != s.tree.get(k) || v.data[0] != s.model[k] {
					r.Fatalf("%q is %v, want %v", k, v.data, s.model[k])
				}
			}
			if d := diff(want, got); d != "" {
				r.Fatalf("keys from %q (-want +got):\n%s", start, d)
			}
		}
	})
}

// TestKeyOrder checks that keys compare as the lists of their parts do, and begin with each other only as those do.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	part := rapid.Custom(func(r *rapid.T) string {
		odd := rapid.SampledFrom([]string{"\x00", "\x01", "\xff", "a"})
		return strings.Join(rapid.SliceOfN(odd, 0, 3).Draw(r, "bytes"), "")
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b := rapid.SliceOfN(part, 0, 3).Draw(r, "a"), rapid.SliceOfN(part, 0, 3).Draw(r, "b")
		ka, kb := key("kind", "T1", a...), key("kind", "T1", b...)
		if want, got := slices.Compare(a, b), strings.Compare(ka, kb); got != want {
			r.Fatalf("%q and %q compare %d, their keys %d", a, b, want, got)
		}
		begins := len(a) <= len(b) && slices.Equal(a, b[:min(len(a), len(b))])
		if got := strings.HasPrefix(kb, ka); got != begins {
			r.Fatalf("%q begins with %q: %v, its key: %v", b, a, begins, got)
		}
	})
}
