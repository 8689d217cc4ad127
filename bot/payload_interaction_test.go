package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// readByTags is readInteraction by encoding/json and the tags of the fields.
func readByTags(raw []byte) (i interaction, err error) {
	if err = json.Unmarshal(raw, &i); err != nil {
		i = interaction{}
	}
	return i, err
}

func differ(want, got interaction) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(interaction{}), cmpopts.EquateEmpty())
}

// leaves calls fn with JSON that has a value for one field alone, for each field of the type that has a tag.
func leaves(t reflect.Type, wrap func(value string) string, fn func(raw string)) {
	switch t.Kind() {
	case reflect.Pointer:
		leaves(t.Elem(), wrap, fn)
	case reflect.Slice:
		leaves(t.Elem(), func(v string) string { return wrap("[null, " + v + "]") }, fn)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			fn(wrap(`{"a": [1, {"b": "c"}]}`))
			return
		}
		leaves(t.Elem(), func(v string) string { return wrap(`{ "key": ` + v + `}`) }, fn)
	case reflect.Struct:
		for i := range t.NumField() {
			if name := t.Field(i).Tag.Get("json"); name != "" {
				leaves(t.Field(i).Type, func(v string) string { return wrap(fmt.Sprintf("{%q:%s}", name, v)) }, fn)
			}
		}
	case reflect.String:
		fn(wrap(`"a \"quote\" and \u00e9, \\"`))
		fn(wrap(`"x"`))
	case reflect.Bool:
		fn(wrap("true"))
	case reflect.Int64:
		fn(wrap("1730000000"))
	default:
		panic(t.String())
	}
}

func TestEveryFieldOfAnInteractionIsRead(t *testing.T) {
	t.Parallel()
	n := 0
	leaves(reflect.TypeFor[interaction](), func(v string) string { return v }, func(raw string) {
		n++
		want, err := readByTags([]byte(raw))
		if err != nil || reflect.ValueOf(want).IsZero() {
			t.Fatalf("%s: %v: the test is wrong", raw, err)
		}
		got, err := readInteraction([]byte(raw))
		if diff := differ(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-encoding/json +read):\n%s", raw, err, diff)
		}
	})
	if n < 50 {
		t.Errorf("only %d fields", n)
	}
}

// oddJSON draws text that is nearly JSON of an interaction: members that are read and others, in any order, with values
// of any kind.
func oddJSON() *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{
		"type", "user", "id", "team", "enterprise_id", "enterprise", "container", "message_ts", "is_ephemeral",
		"message", "thread_ts", "metadata", "event_payload", "blocks", "actions", "action_id", "selected_option",
		"value", "view", "hash",
		"state", "values", "response_url", "else", `\u0074ype`, "",
	})
	leaf := rapid.OneOf(
		rapid.SampledFrom([]string{
			`"x"`, `"\\"`, `"\\\""`, `"a\u0000b"`, `"\ud800"`, `"\uD83D\uDE00"`, `"é"`, "\"\xff\"", "\"\x01\"", `"\q"`,
			"null", "true", "false", "0", "-1.5e3", "{}", "[]", "nul", "tru", "x",
		}),
		rapid.Map(rapid.String(), func(s string) string { raw, _ := json.Marshal(s); return string(raw) }),
	)
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r "})
	value := leaf
	for range 4 {
		inner := value
		value = rapid.OneOf(leaf, rapid.Custom(func(t *rapid.T) string {
			members, seen := []string{}, map[string]bool{}
			for _, n := range rapid.SliceOfN(name, 0, 6).Draw(t, "names") {
				if said := strings.ReplaceAll(n, `\u0074`, "t"); !seen[said] { // of two, encoding/json makes one
					seen[said] = true
					members = append(members, space.Draw(t, "space")+`"`+n+`"`+space.Draw(t, "space")+":"+
						space.Draw(t, "space")+inner.Draw(t, "value")+space.Draw(t, "space"))
				}
			}
			return "{" + strings.Join(members, ",") + "}"
		}), rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []string) string {
			return "[" + strings.Join(l, ", ") + "]"
		}))
	}
	return value
}

func TestInteractionsAreReadAsTheirTagsSay(t *testing.T) {
	t.Parallel()
	raws := oddJSON()
	read, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		raw := raws.Draw(t, "raw")
		want, wantErr := readByTags([]byte(raw))
		got, err := readInteraction([]byte(raw))
		if !json.Valid([]byte(raw)) {
			return // what is not read is not looked at
		}
		if wantErr != nil {
			refused++
		} else {
			read++
		}
		if diff := differ(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, encoding/json: %v (-encoding/json +read):\n%s", raw, err, wantErr, diff)
		}
	})
	if read == 0 || refused == 0 {
		t.Errorf("%d interactions were read and %d refused", read, refused)
	}
}

// TestAnInteractionThatBreaksOffIsRefused: what is cut short anywhere, or goes on, is no interaction.
func TestAnInteractionThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	raw := `{"type":"block_actions","team":null,"message":{"blocks":[{"text":"a \"quote\" and \\"}],"ts":"1.2"},` +
		`"user":{"id":"U1"},"actions":[{"value":"v"}],"view":{"state":{"values":{}}}}`
	for n := range len(raw) {
		if i, err := readInteraction([]byte(raw[:n])); !errors.Is(err, errUnreadable) {
			t.Errorf("%q: %v, %v", raw[:n], i, err)
		}
	}
	for _, more := range []string{"}", "x", "{}", ","} {
		if _, err := readInteraction([]byte(raw + more)); !errors.Is(err, errUnreadable) {
			t.Errorf("with %q behind it: %v", more, err)
		}
	}
	i, err := readInteraction([]byte(" " + raw + "\n"))
	if err != nil || i.User.ID != "U1" || i.Type != "block_actions" {
		t.Errorf("the whole: %v, %v", i, err)
	}
}

// FuzzReadInteraction: what is JSON is read as encoding/json does it, and nothing else brings the reader down.
func FuzzReadInteraction(f *testing.F) {
	leaves(reflect.TypeFor[interaction](), func(v string) string { return v }, func(raw string) { f.Add(raw) })
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = readInteraction([]byte(s))
		var v any
		if json.Unmarshal([]byte(s), &v) != nil || oddNames(v) {
			return
		}
		raw, err := json.Marshal(v) // each name once
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := readByTags(raw)
		got, err := readInteraction(raw)
		if diff := differ(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, encoding/json: %v (-encoding/json +read):\n%s", raw, err, wantErr, diff)
		}
	})
}

// oddNames reports whether a value has names that encoding/json may take for others.
func oddNames(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.ToLower(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) ||
				oddNames(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if oddNames(inner) {
				return true
			}
		}
	}
	return false
}

func BenchmarkReadClick(b *testing.B) {
	block := `{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", 300) + `"}}`
	raw := []byte(`{"type":"block_actions","user":{"id":"U1"},"message":{"ts":"1.2","blocks":[` +
		strings.Repeat(block+",", 15) + block + `]},"actions":[{"action_id":"approve"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readInteraction(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWhatIsNoJSONIsNoInteraction: what is stepped over is not decoded, but brackets have to match, and words to be
// known.
func TestWhatIsNoJSONIsNoInteraction(t *testing.T) {
	t.Parallel()
	deeper := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, odd := range []string{`[}`, `{]`, `tru"e`, `nul`, `[1,{]}`, `'x'`, deeper} {
		raw := `{"type":"block_actions","x":` + odd + `,"user":{"id":"U2"}}`
		if i, err := readInteraction([]byte(raw)); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %+v, %v", raw, i, err)
		}
	}
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	deep = `{"type":"block_actions","x":` + deep + `,"user":{"id":"U2"}}`
	if i, err := readInteraction([]byte(deep)); err != nil || i.User.ID != "U2" {
		t.Errorf("control: %+v, %v", i, err)
	}
}
