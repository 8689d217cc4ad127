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
		bytes := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
		want := url.Values(rapid.MapOf(bytes, rapid.SliceOfN(bytes, 1, 3)).Draw(t, "form"))
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

func TestReadAllReadsAllWhateverTheBodyClaims(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	for _, claimed := range []int64{-1, 0, 1, int64(len(long)), 1 << 60} {
		got, err := readAll(iotest.HalfReader(strings.NewReader(long)), claimed)
		if err != nil || string(got) != long {
			t.Errorf("claimed %d: %d bytes, %v", claimed, len(got), err)
		}
		if claimed > int64(len(long)) && cap(got) > 4*len(long) {
			t.Errorf("claimed %d: %d bytes of memory for %d", claimed, cap(got), len(long))
		}
	}
	broken := io.MultiReader(strings.NewReader("begun"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := readAll(broken, 10)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(got, []byte("begun")) {
		t.Errorf("a body that breaks off: %q, %v", got, err)
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
		got, ok := onlyField([]byte(body), "payload")
		form, err := url.ParseQuery(body)
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
