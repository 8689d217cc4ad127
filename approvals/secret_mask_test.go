package approvals

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func secretRequest(arguments string, names ...string) *Request {
	return &Request{
		RequestHead:    RequestHead{Secret: names},
		RequestContent: RequestContent{Arguments: json.RawMessage(arguments)},
	}
}

// TestMask keeps type and length of a value, and neither the value nor what else it stands in.
func TestMask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, want string }{
		{`"hunter2 Zoë"`, "••• (11 characters)"},
		{`"a\n\"b"`, "••• (4 characters)"},
		{`""`, "••• (0 characters)"},
		{`"x"`, "••• (1 character)"},
		{`4711`, "••• (number, 4 characters)"},
		{`-0.5e7`, "••• (number, 6 characters)"},
		{`true`, "••• (boolean)"},
		{`false`, "••• (boolean)"},
		{`null`, "••• (null)"},
		{`{"pin":"4711"}`, "••• (object, 14 characters)"},
		{`["ä"]`, "••• (array, 5 characters)"},
	} {
		r := secretRequest(`{"a":1,"memo":`+c.value+`,"z":"z"}`, "memo")
		if want := `{"a":1,"memo":` + c.want + `,"z":"z"}`; r.Shown() != want {
			t.Errorf("shown %s, want %s", r.Shown(), want)
		}
		masked := r.Mask()
		if want := `{"a":1,"memo":"` + c.want + `","z":"z"}`; string(masked.Arguments) != want {
			t.Errorf("masked %s, want %s", masked.Arguments, want)
		}
		if !json.Valid(masked.Arguments) || masked.Shown() != r.Shown() || masked.Mask() != masked {
			t.Errorf("masked twice: %s", masked.Shown())
		}
		if string(r.Arguments) != `{"a":1,"memo":`+c.value+`,"z":"z"}` {
			t.Errorf("the request itself was changed: %s", r.Arguments)
		}
	}
	open := secretRequest(`{"memo":"x"}`)
	if open.Mask() != open || open.Shown() != `{"memo":"x"}` || open.Masked {
		t.Errorf("control: %s", open.Shown())
	}
	if other := secretRequest(`{"memo":"x"}`, "gone"); other.Shown() != `{"memo":"x"}` || other.Withheld() != nil {
		t.Errorf("an argument that is not there: %s", other.Shown())
	}
	if none := secretRequest(`"hunter2"`, "memo"); strings.Contains(none.Shown(), "hunter2") {
		t.Errorf("arguments that are no object: %s", none.Shown())
	}
}

// TestMaskIsNoValue: no value can pass for a mask, nor a mask for a value, and two calls are shown alike only when they
// differ in nothing but secret values of one type and length.
func TestMaskIsNoValue(t *testing.T) {
	t.Parallel()
	lie := secretRequest(`{"memo":"hunter2","to":"••• (7 characters)"}`, "memo")
	if want := `{"memo":••• (7 characters),"to":"••• (7 characters)"}`; lie.Shown() != want {
		t.Errorf("shown %s, want %s", lie.Shown(), want)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "a", "•••", "••• (1 character)", `",memo:••• (1 character),"`, "x"})
		one, two := map[string]string{}, map[string]string{}
		for _, of := range []map[string]string{one, two} {
			for _, name := range []string{"memo", "to", "x"} {
				if rapid.Bool().Draw(t, "there") {
					of[name] = text.Draw(t, name)
				}
			}
		}
		shown := func(of map[string]string) string {
			raw, _ := json.Marshal(of)
			return secretRequest(string(raw), "memo").Shown()
		}
		plain := func(of map[string]string) map[string]string {
			rest := map[string]string{}
			for name, value := range of {
				if rest[name] = value; name == "memo" {
					rest[name] = mask(json.RawMessage(`"` + strings.ReplaceAll(value, `"`, `\"`) + `"`))
				}
			}
			return rest
		}
		if same := cmp.Equal(plain(one), plain(two)); same != (shown(one) == shown(two)) {
			t.Fatalf("alike %v: %s and %s", same, shown(one), shown(two))
		}
	})
}

// TestWithoutSecrets: what somebody says who was sent secret values is shown without them.
func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	r := secretRequest(`{"card":{"pin":4711,"who":["ann","annabel"]},"memo":"hunter2","n":"x","to":"acme"}`,
		"memo", "card", "n")
	const said = "HTTP 400 hunter2 for annabel and ann, pin 4711, to acme, x"
	const want = "HTTP 400 ••• for ••• and •••, ••• •••, to acme, x"
	if got := r.withoutSecrets(said); got != want {
		t.Errorf("shown %q", got)
	}
	if got := secretRequest(string(r.Arguments)).withoutSecrets(said); got != said {
		t.Errorf("control: %q", got)
	}
}

// TestMaskOfARevisedRequest: what the model wrote, what people changed and what they filled in are masked too, and a
// change is seen although the masks are of one length.
func TestMaskOfARevisedRequest(t *testing.T) {
	t.Parallel()
	r := secretRequest(`{"memo":"secret2","pin":"same","to":"acme"}`, "memo", "pin")
	r.Original = json.RawMessage(`{"memo":"secret1","pin":"same","to":"axme"}`)
	r.Explanation = []string{"writes secret2"}
	r.Fields = []InputField{
		{Name: "memo", Type: "string", Proposal: json.RawMessage(`"secret1"`), Secret: true},
		{Name: "to", Type: "string"},
	}
	r.Decisions = []Decision{{Input: json.RawMessage(`{"memo":"secret2","to":"acme"}`)}}
	for name, m := range map[string]*Request{"of the whole": r, "of a masked one": r.Mask()} {
		var lines []string
		for _, c := range m.Changes() {
			lines = append(lines, c.String())
		}
		lines = append(lines, m.ShownOriginal())
		lines = append(lines, m.FieldLines()...)
		want := []string{
			"memo: ••• (7 characters), changed since → ••• (7 characters)", `to: "axme" → "acme"`,
			`{"memo":••• (7 characters), changed since,"pin":••• (4 characters),"to":"axme"}`,
			"memo (string); proposed by the model: ••• (7 characters)", "to (string)",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	raw, err := json.Marshal(r.Mask())
	if err != nil || strings.Contains(string(raw), "secret1") || strings.Contains(string(raw), "secret2") ||
		!strings.Contains(string(raw), `"secret":["memo","pin"]`) {
		t.Errorf("%s, %v", raw, err)
	}
	if line := r.Fields[0].String(); line != "memo (string); proposed by the model: •••" {
		t.Errorf("a field by itself: %s", line)
	}
	if control, _ := json.Marshal(r); !strings.Contains(string(control), "secret1") {
		t.Error("control: the request itself does not hold the value")
	}
}
