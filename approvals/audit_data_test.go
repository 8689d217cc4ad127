package approvals

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
)

// TestMarshalFacts compares with encoding/json, whose form the chain's hashes are computed over.
func TestMarshalFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"plain", "<&>", "\u2028", "a\x00b", "\xff", `"\`, "\x7f", "ä", ""}))
		facts := rapid.MapOf(text, rapid.OneOf(
			rapid.Map(text, func(s string) any { return s }),
			rapid.Map(text, func(s string) any { return Verdict(s) }),
			rapid.Map(text, func(s string) any { return RequestID(s) }),
			rapid.Map(rapid.Int(), func(n int) any { return n }),
			rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 32, 32), func(b []byte) any { return agent.Digest(b) }),
			rapid.Map(rapid.SliceOf(text), func(all []string) any { return all }),
			rapid.Just[any](nil),
		)).Draw(t, "facts")
		want, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := marshalFacts(facts)
		if err != nil || string(got) != string(want) {
			t.Errorf("%v: got %s, %v; want %s", facts, got, err, want)
		}
	})
	if _, err := marshalFacts(map[string]any{"f": func() {}}); err == nil {
		t.Error("a fact without a JSON form is accepted")
	}
}

func BenchmarkMarshalFacts(b *testing.B) {
	facts := map[string]any{"decision": DecisionID("dec_0sgcesgpfkm0007m7kcvc7wbkm"), "verdict": Approve, "via": "button", "digest": agent.Digest{1}, "policy": "default"}
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			marshalFacts(facts)
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			json.Marshal(facts)
		}
	})
}
