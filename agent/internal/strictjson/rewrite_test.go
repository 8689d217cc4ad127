package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent/internal/strictjson"
)

func TestObject(t *testing.T) {
	t.Parallel()
	o := strictjson.NewObject([]byte("before "))
	if got := string(o.End()); got != "before {}" {
		t.Errorf("empty: %s", got)
	}
	o = strictjson.NewObject([]byte("["))
	o.OptionalText("left out", "")
	o.Text("text", "a\n\xff€")
	o.OptionalText("option", "b")
	o.Int("int", -7)
	o.Raw("raw", []byte(`[1.50]`))
	o.Append("inner", func(b []byte) []byte {
		inner := strictjson.NewObject(b)
		inner.Text(`a"b`, "")
		return inner.End()
	})
	if err := o.Members([]byte(` { "x" : 1 , "\u0079":{ } } `)); err != nil {
		t.Error(err)
	}
	const want = `[{"text":"a\n` + "\uFFFD" +
		`€","option":"b","int":-7,"raw":[1.50],"inner":{"a\"b":""},"x":1,"\u0079":{ }}`
	if got := string(o.End()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`: `{"n":1}`, "[{ \n} ": `[{"n":1}`, `{"a":{}}`: `{"a":{},"n":1}`, `{"a":"x " }`: `{"a":"x ","n":1}`,
	} {
		o := strictjson.Reopen([]byte(in))
		o.Int("n", 1)
		if got := string(o.End()); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	const object = `{"b": 1.0, "\u0061":[ "x" ],"\ud800":null, "c":{"b":2}}`
	for _, tt := range []struct {
		name, want string
		got        func() ([]byte, error)
	}{
		{"all stays as written", `{"b":1.0,"\u0061":[ "x" ],"\ud800":null,"c":{"b":2}}`, func() ([]byte, error) {
			return strictjson.Rewrite(
				[]byte(object), func(_ string, value []byte) ([]byte, error) { return value, nil })
		}},
		{"without some", `{"\ud800":null}`, func() ([]byte, error) {
			return strictjson.Without([]byte(object), "a", "b", "c", "none")
		}},
		{"without all", `{}`, func() ([]byte, error) { return strictjson.Without([]byte(`{"a":1}`), "a") }},
		{"set what is there", `{"b":1.0,"\u0061":true,"\ud800":null,"c":{"b":2}}`, func() ([]byte, error) {
			return strictjson.Set([]byte(object), "a", []byte("true"))
		}},
		{"set what is new", `{"b":1,"x":2}`, func() ([]byte, error) {
			return strictjson.Set([]byte(`{"b":1}`), "x", []byte("2"))
		}},
		{"set the first", `{"x":2}`,
			func() ([]byte, error) { return strictjson.Set([]byte(` { } `), "x", []byte("2")) }},
	} {
		got, err := tt.got()
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 600)
	for _, in := range []string{``, `[]`, `"{}"`, `{`, `{"a"}`, `{"a":}`, `{"a":1}{}`, `{"a":1,}`, deep} {
		got, err := strictjson.Without([]byte(in), "x")
		if _, ok := errors.AsType[*strictjson.Error](err); !ok || got != nil {
			t.Errorf("%.20s: got %s, %v", in, got, err)
		}
	}
	stop := errors.New("stop")
	seen := 0
	err := strictjson.Members([]byte(`{"a":1,"b":2}`), func(string, []byte) error { seen++; return stop })
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("an error of the callback's: %v after %d members", err, seen)
	}
}

// TestRewriteIsThatOfMaps compares with the same change of a map, and looks that canonical objects stay canonical.
func TestRewriteIsThatOfMaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(rapid.StringMatching(`[a-d€"\\]{0,2}`), value(1), 0, 6).Draw(t, "object")
		name := rapid.StringMatching(`[a-d€"\\]{0,2}`).Draw(t, "name")
		in, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		object, err := strictjson.Canonical(in)
		if err != nil {
			t.Skip("numbers that are not kept")
		}
		without, err := strictjson.Without(object, name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := strictjson.Canonical(without); err != nil || string(again) != string(without) {
			t.Errorf("%s is not canonical: %v", without, err)
		}
		delete(m, name)
		same(t, without, m)
		set, err := strictjson.Set(object, name, []byte(`"new"`))
		if err != nil {
			t.Fatal(err)
		}
		m[name] = "new"
		same(t, set, m)
	})
}

// same fails when data and m, written and read again, are different values.
func same(t *rapid.T, data []byte, m map[string]any) {
	t.Helper()
	var got, want map[string]any
	written, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(written, &want)
	}
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(got, want, func(a, b any) bool { return cmp.Equal(a, b) }) {
		t.Errorf("%s is not %s", data, written)
	}
}

// FuzzRewrite checks that an object whose members all stay means the same, and that nothing but an object is rewritten.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[{"c":null}]}`, ` { "\u0061" : "x" , "" : {} } `, `{"a":1}x`, `[]`, `{"\ud800":"\xff"}`,
		`{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	read := func(data []byte) (v any, err error) { // a number may be larger than any that Go has
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) > 500 {
			t.Skip("more brackets than the nesting that is rewritten (512): Rewrite may refuse it")
		}
		got, err := strictjson.Rewrite(in, func(_ string, value []byte) ([]byte, error) { return value, nil })
		isObject := json.Valid(in) && strings.HasPrefix(strings.TrimLeft(string(in), " \t\r\n"), "{")
		if (err == nil) != isObject {
			t.Fatalf("%q: got %q, %v", in, got, err)
		}
		if err != nil {
			return
		}
		a, err := read(in)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := read(got); err != nil || !cmp.Equal(a, b) {
			t.Errorf("%q became %q", in, got)
		}
	})
}
