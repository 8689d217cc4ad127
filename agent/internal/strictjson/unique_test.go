package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent/internal/strictjson"
)

func TestUnique(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, in, want string }{
		{"the same name in two objects", `{"a":{"a":1},"b":[{"a":1},{"a":1}]}`, ""},
		{"names that differ in case", `{"a":1,"A":2}`, ""},
		{"numbers of any size", `[1e999,123456789012345678901234567890]`, ""},
		{"texts that are not Unicode", "[\"\\ud800\",\"\xff\"]", ""},
		{"twice", `{"a":1,"b":2,"a":3}`, `the member "a" is there twice in one object`},
		{"twice, once escaped", `{"a":1,"\u0061":3}`, `the member "a" is there twice`},
		{"twice deep inside", `{"x/y":[0,{"a":1,"a":1}]}`, `the member "a" is there twice in one object at /x~1y/1`},
		{"a name that is not Unicode", `{"\ud800":1}`, "not valid Unicode"},
		{"the same as bytes", "{\"\xff\":1}", "not valid Unicode"},
		{"too deep", `[[[[[]]]]]`, "nested deeper than 4 levels"},
		{"two values", `{} {}`, "unexpected data after the value"},
		{"nothing", ` `, "expected a value"},
	} {
		err := strictjson.Unique([]byte(tt.in), 4)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.why, err, tt.want)
		}
	}
}

// FuzzUnique checks that what passes is JSON that means the same when members are read in any order, and that what has
// one meaning passes.
func FuzzUnique(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"a":2}`, `{"a":[{"b":1},{"b":2}]}`, `{"\ud800":0}`, `[1e999]`, `{"a":1,"\u0061":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		err := strictjson.Unique(in, strictjson.MaxDepth)
		if err == nil && !json.Valid(in) {
			t.Errorf("%q passes and is not JSON", in)
		}
		if _, refused := strictjson.Canonical(in); refused == nil && err != nil {
			t.Errorf("%q: %v, and Canonical takes it", in, err)
		}
	})
}
