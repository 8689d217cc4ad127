package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/agent/internal/strictjson"
)

func TestUnquote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{`""`, "", true},
		{`"plain €"`, "plain €", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"a\u20acb\uD83D\uDE00c"`, "a€b😀c", true},
		{`"\ud800"`, "\xed\xa0\x80", false},
		{`"\udc00x"`, "\xed\xb0\x80x", false},
		{`"\ud800\ud83d\ude00"`, "\xed\xa0\x80😀", false},
		{`"\ud800\n"`, "\xed\xa0\x80\n", false},
	} {
		tok, escaped, err := strictjson.NewReader([]byte(tt.in), 1).String()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := strictjson.AppendUnquoted(nil, tok)
		if string(got) != tt.want || ok != tt.ok || utf8.Valid(got) != tt.ok {
			t.Errorf("%s: got %q, %v", tt.in, got, ok)
		}
		if text := strictjson.Unquote(tok, escaped); text != tt.want {
			t.Errorf("%s: got %q", tt.in, text)
		}
	}
}

// FuzzSkip checks that the scanner accepts what encoding/json accepts, and nothing else, up to the depth it is given.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+7,"\u00e9",true,false,null,{}]}`, `[01]`, `{"a":}`, `"\x"`, "\"\x00\"",
		` [ ] x`, `-`, `1.`, `tru`,
		strings.Repeat("[", 20) + strings.Repeat("]", 20),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := strictjson.NewReader(in, 1000)
		text, err := r.Skip()
		ok := err == nil && r.End() == nil
		if want := json.Valid(in); ok != want && strings.Count(string(in), "[")+strings.Count(string(in), "{") < 1000 {
			t.Errorf("%q: got %v, %v; encoding/json says %v", in, ok, err, want)
		}
		if err == nil && !json.Valid(text) {
			t.Errorf("%q: returned %q", in, text)
		}
		r = strictjson.NewReader(in, 3)
		if _, err := r.Skip(); err == nil && r.End() == nil && depth(in) > 3 {
			t.Errorf("%q: nested deeper than allowed", in)
		}
	})
}

func depth(valid []byte) (deepest int) {
	d := json.NewDecoder(strings.NewReader(string(valid)))
	for open := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('['), json.Delim('{'):
			open++
		case json.Delim(']'), json.Delim('}'):
			open--
		}
		deepest = max(deepest, open)
	}
}
