package openaimodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent/openaimodel"
)

func TestStrict(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required +
			`],"additionalProperties":false}`
	}
	nested := func(levels int) string {
		s := object(`"a":{"type":"string"}`, `"a"`)
		for range levels - 2 {
			s = object(`"a":`+s, `"a"`)
		}
		return s
	}
	for _, tt := range []struct {
		why, schema string
		want        bool
	}{
		{"no properties", object("", ""), true},
		{"all required and closed",
			object(`"a":{"type":"number","minimum":0},"b":{"type":["string","null"],"enum":["x",null]}`, `"b","a"`),
			true},
		{"a list of objects",
			object(`"a":{"type":"array","items":`+object(`"b":{"type":"integer"}`, `"b"`)+`,"minItems":1}`, `"a"`),
			true},
		{"a choice", object(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"a"`), true},
		{"definitions", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],` +
			`"additionalProperties":false,"$defs":{"x":{"type":"string"}}}`, true},
		{"itself", object(`"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}`, `"a"`), true},
		{"a known format", object(`"a":{"type":"string","format":"uuid","pattern":"^[a-z]+$"}`, `"a"`), true},
		{"a property named as a keyword", object(`"default":{"type":"string"}`, `"default"`), true},
		{"ten levels", nested(10), true},
		{"no JSON", `{`, false},
		{"no object", `{"type":"string"}`, false},
		{"a list", `[]`, false},
		{"open", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{"open for strings",
			`{"type":"object","properties":{},"required":[],"additionalProperties":{"type":"string"}}`, false},
		{"one not required", object(`"a":{"type":"string"},"b":{"type":"string"}`, `"a"`), false},
		{"required but not there", object(`"a":{"type":"string"}`, `"a","b"`), false},
		{"required twice", object(`"a":{"type":"string"},"b":{"type":"string"}`, `"a","a"`), false},
		{"no properties at all", `{"type":"object","additionalProperties":false}`, false},
		{"a choice at the root", `{"type":"object","anyOf":[{"type":"object"}],"properties":{},"required":[],` +
			`"additionalProperties":false}`, false},
		{"open inside", object(`"a":{"type":"object","properties":{}}`, `"a"`), false},
		{"open in a list",
			object(`"a":{"type":"array",`+
				`"items":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}`, `"a"`), false},
		{"a list of anything", object(`"a":{"type":"array"}`, `"a"`), false},
		{"anything", object(`"a":{}`, `"a"`), false},
		{"true as a schema", object(`"a":true`, `"a"`), false},
		{"a default", object(`"a":{"type":"string","default":"x"}`, `"a"`), false},
		{"a length", object(`"a":{"type":"string","maxLength":3}`, `"a"`), false},
		{"allOf", object(`"a":{"allOf":[{"type":"string"}]}`, `"a"`), false},
		{"oneOf", object(`"a":{"oneOf":[{"type":"string"}]}`, `"a"`), false},
		{"a map", object(`"a":{"type":"object","patternProperties":{"^x":{"type":"string"}}}`, `"a"`), false},
		{"an unknown format", object(`"a":{"type":"string","format":"iban"}`, `"a"`), false},
		{"a look-ahead", object(`"a":{"type":"string","pattern":"^(?!x)"}`, `"a"`), false},
		{"a reference elsewhere", object(`"a":{"$ref":"https://example.com/x"}`, `"a"`), false},
		{"a reference with more", object(`"a":{"$ref":"#","description":"x"}`, `"a"`), false},
		{"an unknown keyword", object(`"a":{"type":"string","x-order":1}`, `"a"`), false},
		{"eleven levels", nested(11), false},
		{"too many values", object(`"a":{"type":"integer","enum":[1`+strings.Repeat(",2", 1000)+`]}`, `"a"`), false},
	} {
		if got := openaimodel.Strict(json.RawMessage(tt.schema)); got != tt.want {
			t.Errorf("%s: %t, want %t: %s", tt.why, got, tt.want, tt.schema)
		}
	}
}
