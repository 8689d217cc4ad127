package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"countersign/agent/internal/jsonschema"
)

const seven = `{"$schema":"http://json-schema.org/draft-07/schema#",`

// TestVerdicts has one row or more for each keyword: arguments that are valid, others, and what the model reads.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, valid, other, want string }{
		{`{"multipleOf":0.01}`, `4.35`, `4.355`, "/: must be a multiple of 0.01"}, // decimals, not floats
		{`{"multipleOf":0.1}`, `0.3`, `0.35`, "/: must be a multiple of 0.1"},
		{`{"multipleOf":1e-7}`, `3e-7`, `3.5e-7`, "/: must be a multiple of 1e-7"},
		{`{"exclusiveMaximum":3e20}`, `1`, `3e20`, "/: must be less than 300000000000000000000"},
		{`{"minimum":-1.5}`, `-1.5`, `-1.6`, "/: must be at least -1.5"},
		{`{"type":"integer"}`, `1e3`, `1.5`, "/: must be an integer, not a number"},
		{`{"const":9007199254740993}`, ``, `9007199254740992`, "/: must be one of 9007199254740993"},
		{`{"const":[{"a":null}]}`, `[{"a":null}]`, `[{}]`, `/: must be one of [{"a":null}]`},
		{`{"minProperties":1}`, `{"a":1}`, `{}`, "/: must have at least 1 members, and has 0"},
		{`{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`, "/: must have at most 1 members, and has 2"},
		{`{"minItems":2}`, `[1,2]`, `[1]`, "/: must have at least 2 items, and has 1"},
		{`{"maxLength":2}`, `"€€"`, `"€€€"`, "/: must have at most 2 characters, and has 3"},
		{`{"uniqueItems":true}`, `[1,"1"]`, `[1,2,1.0]`, "/: the items 0 and 2 are equal, and must not be"},
		{`{"contains":{"type":"null"}}`, `[1,null]`, `[1]`, "/: none of the items is of the form that one must have"},
		{`{"contains":{"type":"null"},"minContains":2}`, `[null,null]`, `[null]`,
			"/: must have at least 2 items that fit contains, and has 1"},
		{`{"contains":{"type":"null"},"maxContains":1}`, `[null]`, `[null,null]`,
			"/: must have at most 1 items that fit contains, and has 2"},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`, "/1: is not allowed"},
		{`{"unevaluatedItems":false,"prefixItems":[true]}`, `[1]`, `[1,2]`, "/1: is not allowed"},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`,
			"/b: is not allowed"},
		{`{"dependentRequired":{"a":["c","b"]}}`, `{"b":1}`, `{"a":1}`,
			`/: the member "b" is missing, which "a" requires; /: the member "c" is missing, which "a" requires`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`,
			`/: the required member "b" is missing`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"c":1}`, `{"a":1}`,
			`/: the required member "b" is missing`},
		{`{"not":{"type":"null"}}`, `1`, `null`, "/: is of a form that is ruled out"},
		{`{"oneOf":[{"type":"integer"},{"minimum":3}]}`, `1`, `4`, "/: fits several forms, and must fit one only"},
		{`{"oneOf":[{"type":"string"},{"required":["a"],"type":"object"}]}`, `"x"`, `{}`,
			`/: fits none of 2 forms; for the closest: /: the required member "a" is missing`},
		{`{"properties":{"x":{"propertyNames":{"maxLength":2}}}}`, `{"x":{"ab":1},"y":{"abc":1}}`,
			`{"x":{"abd":1},"y":{"abc":1}}`,
			`/x: the name "abd" is not allowed: must have at most 2 characters, and has 3`},
		{`{"patternProperties":{"^n":{"type":"number"}},"additionalProperties":false}`, `{"n1":1}`, `{"n1":"","x":1}`,
			"/n1: must be a number, not a string; /x: there is no such member"},
		{`{"format":"email"}`, `"a hint"`, ``, ""},
		{seven + `"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`,
			"/: has too many items: 1 are not allowed"},
		{seven + `"items":[{"type":"string"}],"additionalItems":{"type":"null"}}`, `["a",null]`, `["a",1]`,
			"/1: must be null, not a number"},
		{seven + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"a":1,"c":1}`,
			`/: the member "b" is missing, which "a" requires; /: the required member "d" is missing`},
	} {
		s, err := jsonschema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if tt.valid != "" {
			if err := s.Validate(json.RawMessage(tt.valid)); err != nil {
				t.Errorf("%s refuses %s: %v", tt.schema, tt.valid, err)
			}
		}
		if tt.other == "" {
			continue
		}
		if err := s.Validate(json.RawMessage(tt.other)); err == nil || err.Error() != tt.want {
			t.Errorf("%s, %s:\ngot  %v\nwant %s", tt.schema, tt.other, err, tt.want)
		}
	}
}

// What one draft ignores is refused in a schema of one's own, like any keyword that does nothing.
func TestKeywordsOfAnotherDraft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, want string }{
		{`{"dependencies":{"a":["b"]}}`, `unknown keyword "dependencies"`},
		{`{"additionalItems":false}`, `unknown keyword "additionalItems"`},
		{seven + `"prefixItems":[true]}`, `unknown keyword "prefixItems"`},
		{seven + `"dependentRequired":{}}`, `unknown keyword "dependentRequired"`},
		{seven + `"not":{"$ref":"#","maxProperties":1}}`, "/not/maxProperties: draft-07 ignores it beside $ref"},
		{`{"not":{"$schema":"http://json-schema.org/draft-07/schema#"}}`, "/not/$schema: belongs to the root"},
	} {
		_, err := jsonschema.Compile(json.RawMessage(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.schema, err, tt.want)
		}
	}
	s, err := jsonschema.Compile(json.RawMessage(`{"properties":{"a":{"$ref":"#","maxProperties":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"a":{"a":{},"b":1}}`)); err == nil {
		t.Error("control: draft 2020-12 ignores what stands beside $ref")
	}
}

// Numbers that cost much to calculate with never reach the library, wherever in a schema they are.
func TestCostlyNumbers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1", 100)
	for _, n := range []string{"1e999999", "1e-999999", "-0.1e-99999", "0." + long, long} {
		for _, schema := range []string{
			`{"maximum":%s}`, `{"enum":[{"a":[%s]}]}`, `{"x-own":%s}`, `{"$defs":{"a":{"minLength":%s}}}`,
		} {
			if s, err := jsonschema.CompileForeign(fmt.Appendf(nil, schema, n)); err == nil || s != nil {
				t.Errorf("%s with %.20s passes", schema, n)
			}
		}
	}
	for _, n := range []string{"0e999999", "0.0e-5", "1e300", "-1e-300"} {
		if _, err := jsonschema.Compile(fmt.Appendf(nil, `{"maximum":%s}`, n)); err != nil {
			t.Errorf("control: %s: %v", n, err)
		}
	}
}

// The library compares each schema with all before it, so their number is bounded.
func TestManySchemas(t *testing.T) {
	t.Parallel()
	many := func(n int) json.RawMessage {
		return json.RawMessage(`{"anyOf":[` + strings.Repeat(`{},`, n-1) + `{}]}`)
	}
	_, err := jsonschema.Compile(many(5000))
	if err == nil || !strings.Contains(err.Error(), "more than 4000 schemas") {
		t.Errorf("got %v", err)
	}
	if _, err := jsonschema.Compile(many(1000)); err != nil {
		t.Errorf("control: %v", err)
	}
}

// What a check costs depends on values too: the work that grows fastest is bounded.
func TestCostlyValues(t *testing.T) {
	t.Parallel()
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	var nested strings.Builder
	for range 60 {
		nested.WriteString(`{"uniqueItems":true,"items":`)
	}
	for _, tt := range []struct{ why, schema, arguments string }{
		{"numbers compared with numbers", `{"items":{"enum":` + list(500, "1.5") + `}}`, list(5000, "2.5")},
		{
			"equal items on every level", nested.String() + `{}` + strings.Repeat(`}`, 60),
			strings.Repeat("[0,", 50) + list(20_000, "[]") + strings.Repeat("]", 50),
		},
		{
			"a list of what is left, made often",
			`{"unevaluatedProperties":false,"allOf":` + list(300, `{"minProperties":1}`) + `}`, manyMembers(30_000),
		},
	} {
		s, err := jsonschema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		if err := s.Validate(json.RawMessage(tt.arguments)); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%s: %.100v", tt.why, err)
		}
	}
	s, err := jsonschema.Compile(json.RawMessage(`{"items":{"enum":` + list(500, "1.5") + `},"uniqueItems":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(list(50, "1.5"))); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	var members []string
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t recipient") {
		members = append(members, `"`+name+`":{}`)
	}
	schema := `{"additionalProperties":false,"properties":{` + strings.Join(members, ",") + `}}`
	s, err := jsonschema.Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"Recipeint":1}`: "/Recipeint: there is no such member; the nearest is recipient",
		`{"unlike":1}`:    "/unlike: there is no such member",
	} {
		if err := s.Validate(json.RawMessage(arguments)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", arguments, err, want)
		}
	}
}

// A schema is used by several runs at once, and says the same every time.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.Compile(json.RawMessage(transferSchema))
	if err != nil {
		t.Fatal(err)
	}
	arguments := json.RawMessage(`{"z":1,"amount":-1,"to":"x","y":1,"kind":"k","a/b":1.5,"lines":[{"n":"1","m":2}]}`)
	want := s.Validate(arguments)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if err := s.Validate(arguments); err == nil || err.Error() != want.Error() {
					t.Errorf("got %v, and before %v", err, want)
					return
				}
			}
		})
	}
	group.Wait()
}
