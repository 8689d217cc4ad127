package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unread is what the tests leave out.
var unread = omit{"message": {"blocks": nil, "attachments": nil}, "view": {"blocks": nil}}

// anyJSON draws a value with members that without looks for, on every level.
func anyJSON() *rapid.Generator[any] {
	name := rapid.OneOf(rapid.SampledFrom([]string{"message", "view", "blocks", "thread_ts"}), rapid.String())
	leaf := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{`"`, `\`, `\"`, `\\`, `{"`, `]}`, `a\\`}),
			func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Just(any(nil)), rapid.Just(any(true)),
	)
	value := leaf
	for range 3 {
		inner := value
		value = rapid.OneOf(leaf,
			rapid.Map(rapid.MapOfN(name, inner, 0, 4), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return l }),
		)
	}
	return value
}

// cutFrom does to a decoded value what without does to JSON.
func cutFrom(v any, o omit) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, inner := range o {
		if old, ok := m[name]; ok && inner == nil {
			m[name] = nil
		} else if ok {
			m[name] = cutFrom(old, inner)
		}
	}
	return m
}

func TestWithoutLeavesOutWhatIsNamed(t *testing.T) {
	t.Parallel()
	object := rapid.MapOfN(rapid.SampledFrom([]string{"message", "view", "user", "blocks", ""}), anyJSON(), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		want := any(object.Draw(t, "object"))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			raw, _ = json.MarshalIndent(want, " ", "\t")
			raw = append([]byte("\n "), raw...)
		}
		var got any
		if err := json.Unmarshal(without(raw, unread), &got); err != nil {
			t.Fatalf("%v: %s of %s", err, without(raw, unread), raw)
		}
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cutFrom(decoded, unread), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWithoutDoesNotMendJSON: what the decoder refuses in a part that is read, it refuses as before.
func TestWithoutDoesNotMendJSON(t *testing.T) {
	t.Parallel()
	raw := `{"type":"block_actions","message":{"blocks":[{"text":"a \"quote\" and \\"}],"ts":"1.2"},"user":{"id":"U1"}}`
	for n := range len(raw) {
		if json.Valid(without([]byte(raw[:n]), unread)) {
			t.Errorf("%q became %q", raw[:n], without([]byte(raw[:n]), unread))
		}
	}
	const want = `{"type":"block_actions","message":{"blocks":null,"ts":"1.2"},"user":{"id":"U1"}}`
	if got := string(without([]byte(raw), unread)); got != want {
		t.Errorf("%s", got)
	}
	for _, odd := range []string{
		`[]`, `"message"`, `{"message":1}`, `{"message":null,"view":[{"blocks":1}]}`, `{}`, ``,
	} {
		if got := string(without([]byte(odd), unread)); got != odd {
			t.Errorf("%s became %s", odd, got)
		}
	}
}

func TestWithoutTakesAnything(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `"`, `\`, `:`, `,`, ` `, `1`, `"message"`, `"blocks"`, "\x00",
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "")
		if got := without([]byte(raw), unread); json.Valid([]byte(raw)) && !json.Valid(got) {
			t.Errorf("%q became %q", raw, got)
		}
	})
}
