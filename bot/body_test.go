package bot

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFormsAreWhatTheStandardLibraryReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		anyBytes := rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})
		want := url.Values(rapid.MapOf(anyBytes, rapid.SliceOfN(anyBytes, 1, 3)).Draw(t, "form"))
		encoded := encodeForm(want)
		if got := len(encoded); got != len(want.Encode()) {
			t.Errorf("%d bytes, the standard library writes %d", got, len(want.Encode()))
		}
		got, err := url.ParseQuery(string(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}

func TestEveryByteIsEscapedAsInTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		s := string([]byte{byte(c)})
		escaped := make([]byte, escapedLen(s)+escapeRoom)
		n := putEscaped(escaped, s)
		if got, want := string(escaped[:n]), url.QueryEscape(s); got != want || escapedLen(s) != n {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// Whatever still refers to a body that was given back reads nonsense in every test of the package.
func init() {
	spoil = func(b []byte) {
		for i := range b {
			b[i] = '!'
		}
	}
}

func TestBuffersHoldWhatIsReadWhateverTheBodyClaims(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	for _, claimed := range []int64{-1, 0, 1, int64(len(long)), 1 << 60} {
		b := takeBuffer(claimed)
		if c := b.Cap(); b.Len() != 0 || c > 2*mostKept {
			t.Errorf("claimed %d: %d bytes, room for %d before anything is read", claimed, b.Len(), c)
		}
		if _, err := b.ReadFrom(iotest.HalfReader(strings.NewReader(long))); err != nil || b.String() != long {
			t.Errorf("claimed %d: %d bytes, %v", claimed, b.Len(), err)
		}
		b.giveBack()
	}
	b := takeBuffer(10)
	defer b.giveBack()
	broken := io.MultiReader(strings.NewReader("begun"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := b.ReadFrom(broken); !errors.Is(err, io.ErrUnexpectedEOF) || b.String() != "begun" {
		t.Errorf("a body that breaks off: %q, %v", b, err)
	}
}

func TestTheOnlyFieldOfAFormIsWhatTheStandardLibraryReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.StringOf(rapid.RuneFrom([]rune("paylod=%+&;2fFgA ")))
		body := rapid.OneOf(
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string {
				return "payload=" + url.QueryEscape(string(b))
			}),
			rapid.Map(odd, func(s string) string { return "payload=" + s }),
			odd,
		).Draw(t, "body")
		before := rapid.SampledFrom([]string{"", "before "}).Draw(t, "before")
		raw := []byte(body)
		got, found, bad := onlyField([]byte(before), raw, "payload")
		ok := found && bad == nil
		if ok && !bytes.HasPrefix(got, []byte(before)) || string(raw) != body {
			t.Fatalf("%q: behind %q: %q", raw, before, got)
		}
		got = bytes.TrimPrefix(got, []byte(before))
		form, err := url.ParseQuery(body)
		if bad != nil && err == nil {
			t.Fatalf("%q: %v", body, bad)
		}
		if ok && (err != nil || len(form) != 1 || len(form["payload"]) != 1 || form.Get("payload") != string(got)) {
			t.Fatalf("%q: %q, the standard library reads %q, %v", body, got, form, err)
		}
		alone := err == nil && strings.HasPrefix(body, "payload=") && !strings.ContainsAny(body, "&;")
		if !ok && alone {
			t.Fatalf("%q: nothing, the standard library reads %q", body, form)
		}
	})
}

func TestWhatAnAnswerSaysOfItself(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]answerStatus{
		`{"ok":true,"user":{"id":"U1"}}`:                      {OK: true},
		`{"ok":true}`:                                         {OK: true},
		`{"user":{"id":"U1"},"ok":true}`:                      {OK: true},
		`{"ok":false,"error":"missing_scope","needed":"x:y"}`: {Error: "missing_scope", Needed: "x:y"},
		`{"ok":true,"ok":false,"error":"fatal_error"}`:        {Error: "fatal_error"},
		`{"ok":true,"error":"odd"}`:                           {OK: true, Error: "odd"},
		`{}`:                                                  {},
	} {
		for _, decoded := range []bool{false, true} {
			if got, err := statusOf([]byte(body), decoded); got != want || err != nil {
				t.Errorf("%s: %+v, %v, want %+v", body, got, err, want)
			}
		}
	}
	for _, body := range []string{``, `[]x`, `{"ok":true,"user":`, `<html>`} {
		if got, err := statusOf([]byte(body), false); err == nil {
			t.Errorf("%q, which is no JSON: %+v", body, got)
		}
	}
}
