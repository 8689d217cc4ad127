package jsonschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent/internal/jsonschema"
)

const transferSchema = `{
	"type":"object",
	"properties":{
		"amount":{"type":"number","exclusiveMinimum":0,"maximum":10000},
		"to":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[A-Z]+$"},
		"kind":{"enum":["sepa","wire",3]},
		"lines":{"type":"array","maxItems":2,"items":{"$ref":"#/$defs/line"}},
		"when":{"type":["string","null"]},
		"party":{"anyOf":[
			{"type":"string"},{"type":"object","properties":{"iban":{"type":"string"}},"required":["iban"]}]},
		"a/b":{"type":"integer"},
		"odd":{"not":{"type":"string"}}
	},
	"required":["amount","to"],
	"additionalProperties":false,
	"$defs":{"line":{
		"type":"object","properties":{"n":{"type":"integer","multipleOf":2}},
		"required":["n"],"additionalProperties":false
	}}
}`

func TestValidate(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.Compile(json.RawMessage(transferSchema))
	if err != nil {
		t.Fatal(err)
	}
	const rest = `,"to":"ABC"`
	for _, tt := range []struct{ arguments, want string }{
		{`{"amount":1,"to":"ABC"}`, ""},
		{`{"amount":10000,"to":"ABC","kind":3,"when":null,"lines":[{"n":2}],"party":{"iban":"x"},"a/b":7,"odd":1}`, ""},
		{`{}`, `/: the required member "amount" is missing; /: the required member "to" is missing`},
		{`{"amount":"12"` + rest + `}`, `/amount: must be a number, not a string`},
		{`{"amount":null` + rest + `}`, `/amount: must be a number, not null`},
		{`{"amount":0` + rest + `}`, `/amount: must be more than 0`},
		{`{"amount":10001` + rest + `}`, `/amount: must be at most 10000`},
		{`{"amount":1,"to":"a"}`,
			`/to: must have at least 2 characters, and has 1; /to: must match the pattern ^[A-Z]+$`},
		{`{"amount":1,"to":"ABCDEF"}`, `/to: must have at most 5 characters, and has 6`},
		{`{"amount":1,"kind":"cash"` + rest + `}`, `/kind: must be one of "sepa","wire",3`},
		{`{"amount":1,"lines":[{"n":2},{"n":3}]` + rest + `}`, `/lines/1/n: must be a multiple of 2`},
		{`{"amount":1,"lines":[{"n":2.5}]` + rest + `}`, `/lines/0/n: must be an integer, not a number`},
		{`{"amount":1,"lines":[{},{},{}]` + rest + `}`, `/lines: must have at most 2 items, and has 3`},
		{`{"amount":1,"when":7` + rest + `}`, `/when: must be a string or null, not a number`},
		{`{"amount":1,"party":{}` + rest + `}`, `/party: fits none of 2 forms; for the closest:`},
		{`{"amount":1,"a/b":"x"` + rest + `}`, `/a~1b: must be an integer, not a string`},
		{`{"amount":1,"extra":1` + rest + `}`,
			`/extra: there is no such member; there are a/b, amount, kind, lines, odd, party, to, when`},
		{`{"amount":1,"odd":"s"` + rest + `}`, `/odd: is of a form that is ruled out`},
		{`[]`, `/: must be an object, not an array`},
		{`{"amount":`, `the arguments are not JSON`},
	} {
		err := s.Validate(json.RawMessage(tt.arguments))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.arguments, err, tt.want)
		}
	}
	err = s.Validate(json.RawMessage(`{"amount":"hunter2","to":"hunter2 again","kind":"hunter2","extra":"hunter2"}`))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error repeats a value: %v", err)
	}
}

func TestNoSchema(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("an unknown member passed")
	}
	permissive, err := jsonschema.Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := permissive.Validate(json.RawMessage(`{"a":1}`)); err != nil {
		t.Errorf("control: a schema that allows anything: %v", err)
	}
}

func TestBadSchemas(t *testing.T) {
	t.Parallel()
	in := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	for _, tt := range []struct{ schema, want string }{
		{`{"type":`, "schema: expected a value at /type"},
		{`{} {}`, "unexpected data after the value"},
		{`7`, "schema at /: must be a boolean or an object, not a number"},
		{in(`{"type":"strng"}`),
			`schema at /properties/a/type: fits none of 2 forms; for the closest: /properties/a/type: ` +
				`must be one of "array",`},
		{in(`{"type":[]}`), "/properties/a/type: fits none of 2 forms"},
		{in(`{"max":3}`), `schema at /properties/a: unknown keyword "max"; one of your own begins with x-`},
		{in(`{"requird":["x"]}`), `unknown keyword "requird"; the nearest is "required"`},
		{in(`{"nullable":true}`), `unknown keyword "nullable"`},
		{in(`{"minimum":"3"}`), "/properties/a/minimum: must be a number"},
		{in(`{"minLength":-1}`), "/properties/a/minLength: must be at least 0"},
		{in(`{"maxItems":1e12}`), "/properties/a/maxItems: must be a whole number, and at most 2147483647"},
		{in(`{"minLength":1.5}`), "/properties/a/minLength: must be a whole number"},
		{in(`{"multipleOf":0}`), "/properties/a/multipleOf: must be more than 0"},
		{in(`{"pattern":"("}`), "/properties/a/pattern: error parsing regexp"},
		{in(`{"patternProperties":{"(":{}}}`),
			"/properties/a/patternProperties: the name \"(\" is not allowed: error parsing regexp"},
		{in(`{"enum":[]}`), "/properties/a/enum: must be a list that is not empty"},
		{in(`{"items":[{}]}`), "/properties/a/items: must be a boolean or an object, not an array"},
		{in(`{"anyOf":[]}`), "/properties/a/anyOf: must have at least 1 items, and has 0"},
		{in(`{"anyOf":[{"type":"x"}]}`), "/properties/a/anyOf/0/type"},
		{in(`{"properties":[]}`), "/properties/a/properties: must be an object, not an array"},
		{in(`{"required":["x","x"]}`), "/properties/a/required: the items 0 and 1 are equal, and must not be"},
		{in(`{"properties":{},"additionalProperties":false,"required":["x"]}`),
			`/properties/a/required: "x" is required and not allowed`},
		{in(`{"uniqueItems":"yes"}`), "/properties/a/uniqueItems: must be a boolean, not a string"},
		{in(`{"title":1}`), "/properties/a/title: must be a string, not a number"},
		{in(`{"$ref":"#/$defs/none"}`), "/properties/a/$ref: must point into this schema"},
		{in(`{"$ref":"https://example.com/s.json"}`), "/properties/a/$ref: must point into this schema"},
		{in(`{"$dynamicRef":"#x"}`), `unknown keyword "$dynamicRef"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`,
			"schema at /$schema: only draft 2020-12 and draft-07"},
		{`{"$ref":"#"}`, "refers to itself without an end"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
			"refers to itself without an end"},
		{strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100), "nested too deeply"},
	} {
		_, err := jsonschema.Compile(json.RawMessage(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.schema, err, tt.want)
		}
	}
	for _, fine := range []string{
		`{"type":"object","properties":{"tree":{"$ref":"#/$defs/tree"}},
			"$defs":{"tree":{"type":"object","properties":{
			"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"x-order":1,"examples":[{}],"default":{},"format":"x"}`,
		`true`,
	} {
		if _, err := jsonschema.Compile(json.RawMessage(fine)); err != nil {
			t.Errorf("control: %s: %v", fine, err)
		}
	}
}

// Whatever the schema and the arguments are, there is a verdict.
func FuzzCompile(f *testing.F) {
	f.Add(transferSchema, `{"amount":1,"to":"ABC","lines":[{"n":2}]}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"type":"object"}}}`, `{}`)
	f.Add(`{"type":"object","patternProperties":{"^x":{"type":"string"}},"propertyNames":{"maxLength":3}}`,
		`{"xyzw":1}`)
	f.Add(`{"contains":{"type":"null"},"uniqueItems":true,"minContains":2}`, `[null,null]`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		s, err := jsonschema.Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		if err := s.Validate(json.RawMessage(arguments)); err == nil && !json.Valid([]byte(arguments)) {
			t.Fatal("arguments that are no JSON passed")
		}
	})
}
