package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/agent/internal/jsonschema"
)

// What others write may hold keywords that nobody here knows; the rest of it counts all the same.
func TestForeign(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema#","$id":"https://example.com/s",
		"type":"object","nullable":false,
		"properties":{"n":{"type":"integer","minimum":1,"markdownDescription":"*n*"},
			"list":{"type":"array","items":{"$ref":"#/$defs/e"}}},
		"$defs":{"e":{"anyOf":[{"type":"string","optional":true},{"type":"null"}]}},"required":["n"]}`
	s, err := jsonschema.CompileForeign(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"n":1,"list":["a",null],"more":true}`: "",
		`{"n":0}`:                               "/n: must be at least 1",
		`{}`:                                    `the required member "n" is missing`,
		`{"n":1,"list":[7]}`:                    "/list/0: fits none of 2 forms",
	} {
		err := s.Validate(json.RawMessage(arguments))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", arguments, err, want)
		}
	}
	_, err = jsonschema.Compile(json.RawMessage(schema))
	if err == nil || !strings.Contains(err.Error(), `unknown keyword`) {
		t.Errorf("control: a schema of our own with unknown keywords: %v", err)
	}
}

func TestRefusedFromAnybody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, schema, want string }{
		{"twice the same member", `{"properties":{"a":{}},"properties":{}}`, `the member "properties" is there twice`},
		{"twice deep inside", `{"properties":{"a":{"enum":[{"x":1,"x":2}]}}}`, `the member "x" is there twice`},
		{"two values", `{} {}`, "unexpected data after the value"},
		{"a reference elsewhere", `{"$ref":"https://example.com/s.json"}`, "must point into this schema"},
		{"a reference to an anchor", `{"$ref":"#x","$defs":{"x":{"$anchor":"x"}}}`, "must point into this schema"},
		{"a reference into what is left out", `{"$ref":"#/dependencies/x","dependencies":{"x":{"$ref":"#"}}}`,
			"must point into this schema"},
		{"a circle", `{"allOf":[{"$ref":"#"}]}`, "refers to itself without an end"},
		{"a circle behind escapes of a URL",
			`{"$ref":"#/$defs/a%20b","$defs":{"a%20b":{},"a b":{"$ref":"#/$defs/a%20b"}}}`,
			"refers to itself without an end"},
		{"a circle behind an escape that is none", `{"$ref":"#/$defs/a~b","$defs":{"a~b":{"$ref":"#/$defs/a~b"}}}`,
			"must point into this schema"},
		{"a circle behind another way to write a number", `{"allOf":[{"$ref":"#/allOf/+0"}]}`,
			"refers to itself without an end"},
		{"an escape without an end", `{"$ref":"#/$defs/a%2","$defs":{"a%2":{}}}`, "must point into this schema"},
		{"a dialect nobody knows", `{"$schema":"https://json-schema.org/draft/2019-09/schema"}`,
			"only draft 2020-12 and draft-07"},
		{"a pattern that Go does not have", `{"pattern":"(?=x)"}`, "/pattern"},
		{"deep nesting", strings.Repeat(`{"x":`, 2000) + `1` + strings.Repeat(`}`, 2000),
			"nested deeper than 256 levels"},
	} {
		_, err := jsonschema.CompileForeign(json.RawMessage(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.why, err, tt.want)
		}
	}
}

// Keywords that the library enforces and the check for circles does not know must not reach the library: a circle
// through them would end the process.
func TestUnknownCirclesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"dependencies":{"a":{"$ref":"#"}}}`,
		`{"$dynamicAnchor":"x","$dynamicRef":"#x"}`,
		`{"$recursiveAnchor":true,"$recursiveRef":"#"}`,
	} {
		s, err := jsonschema.CompileForeign(json.RawMessage(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
		} else if err := s.Validate(json.RawMessage(`{"a":1}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// A reference is a URL: generators escape what is special in one.
func TestEscapedReference(t *testing.T) {
	t.Parallel()
	const schema = `{"properties":{"list":{"$ref":"#/definitions/List%3Ca~1b%3E"}},
		"definitions":{"List<a/b>":{"type":"array"}}}`
	for _, foreign := range []bool{false, true} {
		compile := jsonschema.Compile
		if foreign {
			compile = jsonschema.CompileForeign
		}
		s, err := compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(json.RawMessage(`{"list":[]}`)); err != nil {
			t.Error(err)
		}
		err = s.Validate(json.RawMessage(`{"list":1}`))
		if err == nil || err.Error() != "/list: must be an array, not a number" {
			t.Errorf("control: got %v", err)
		}
	}
}

// Both spellings of a dialect must do, and not only until the first check.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{
		"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
		"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
	} {
		s, err := jsonschema.Compile(json.RawMessage(`{"$schema":"` + dialect + `","type":"object"}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(json.RawMessage(`{}`)); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}

// Small schemas can ask for more work than anybody has time for.
func TestExponentialWork(t *testing.T) {
	t.Parallel()
	doubling := `{"$ref":"#/$defs/d60","$defs":{"d0":{"type":"object"}`
	for i := range 60 {
		doubling += fmt.Sprintf(`,"d%d":{"anyOf":[{"allOf":[{"$ref":"#/$defs/d%d"},false]},{"$ref":"#/$defs/d%d"}]}`,
			i+1, i, i)
	}
	doubling += `}}`
	const branching = `{"allOf":[{"properties":{"c":{"$ref":"#"}}},{"additionalProperties":{"$ref":"#"}},
		{"patternProperties":{"c":{"$ref":"#"}}}]}`
	deep := strings.Repeat(`{"c":`, 60) + `1` + strings.Repeat(`}`, 60)
	pattern := strings.Repeat(`(x|y)?[a-q]*`, 4000)
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf(`"n%d"`, i))
	}
	all := "[" + strings.Join(names, ",") + "]"
	for _, tt := range []struct{ why, schema, arguments string }{
		{"in breadth", doubling, `{}`},
		{"in depth", branching, deep},
		{"a large pattern and many texts", `{"items":{"pattern":"` + pattern + `"}}`, list(100_000, `""`)},
		{"a large pattern and a large text", `{"pattern":"` + pattern + `"}`, `"` + strings.Repeat("x", 1<<20) + `"`},
		{"a large pattern for many names", `{"patternProperties":{"` + pattern + `":{}}}`, manyMembers(50_000)},
		{"a choice of many", `{"items":{"enum":` + all + `}}`, list(100_000, `"x"`)},
		{"many required members", `{"items":{"required":` + all + `}}`, list(100_000, `{}`)},
		{"many members that depend on one", `{"items":{"dependentRequired":{"a":` + all + `}}}`,
			list(100_000, `{"a":1}`)},
	} {
		s, err := jsonschema.CompileForeign(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		if err := s.Validate(json.RawMessage(tt.arguments)); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	s, err := jsonschema.CompileForeign(json.RawMessage(branching))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"c":{"c":{"c":1}}}`)); err != nil {
		t.Errorf("control: the same schema with little to check: %v", err)
	}
	// A pattern is read once, however many objects it applies to.
	s, err = jsonschema.CompileForeign(json.RawMessage(`{"items":{"patternProperties":{"` + pattern + `":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(list(100_000, `{}`))); err != nil {
		t.Errorf("control: a large pattern and nothing to match: %v", err)
	}
	large := `[` + strings.Repeat(`{"n":1},`, 50_000) + `{"n":1}]`
	s, err = jsonschema.CompileForeign(json.RawMessage(
		`{"items":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(large)); err != nil {
		t.Errorf("control: large and plain: %v", err)
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// What is explained is the same as what is refused: values of choices are compared as JSON says.
func TestChoices(t *testing.T) {
	t.Parallel()
	const schema = `{"anyOf":[{"enum":[1.0,"1",null,true,[1,{"a":[2]}],{"b":1,"c":"x"}]},{"const":{"d":[]}}]}`
	s, err := jsonschema.Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, ok := range map[string]bool{
		`1`: true, `"1"`: true, `null`: true, `true`: true,
		`[1.0,{"a":[2]}]`: true, `{"c":"x","b":1}`: true, `{"d":[]}`: true,
		`2`: false, `""`: false, `false`: false, `[1]`: false,
		`[1,{"a":[3]}]`: false, `{"b":1}`: false, `{"b":1,"c":"x","d":1}`: false, `{"d":[1]}`: false,
	} {
		err := s.Validate(json.RawMessage(arguments))
		const want = "fits none of 2 forms; for the closest: /: must be one of"
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func FuzzCompileForeign(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"nullable":true}}}`, `{"a":1}`)
	f.Add(`{"dependencies":{"a":{"$ref":"#"}},"$dynamicRef":"#x"}`, `{"a":[]}`)
	f.Add(`{"$id":"x","anyOf":[{"$ref":"#/anyOf/1"},{"not":{}}],"contains":true}`, `[1]`)
	f.Add(`{"$ref":"#/$defs/a%20b","$defs":{"a%20b":{},"a b":{"$ref":"#/$defs/a%20b"}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		s, err := jsonschema.CompileForeign(json.RawMessage(schema))
		if err != nil {
			return
		}
		if err := s.Validate(json.RawMessage(arguments)); err == nil && !json.Valid([]byte(arguments)) {
			t.Fatal("arguments that are no JSON passed")
		}
	})
}
