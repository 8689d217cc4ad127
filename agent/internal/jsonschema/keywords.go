package jsonschema

import (
	"maps"
	"strings"
)

// form says what a keyword holds, as far as that is needed to find the schemas in a schema and what the library does
// not look at.
type form int

const (
	plain     form = iota
	one            // a schema
	list           // a list of schemas
	byName         // an object of schemas
	oneOrList      // a schema or a list of them
	nameOrOne      // an object of schemas or lists of names
	length         // a whole number
	choices        // a list of values
	reference      // $ref
	dialect        // $schema
)

// common are the keywords of both drafts that are enforced, and those that only describe.
var common = map[string]form{
	"type": plain, "enum": choices, "const": plain,
	"properties": byName, "patternProperties": byName, "additionalProperties": one, "propertyNames": one,
	"required": plain, "minProperties": length, "maxProperties": length,
	"contains": one, "minItems": length, "maxItems": length, "uniqueItems": plain,
	"minimum": plain, "maximum": plain, "exclusiveMinimum": plain, "exclusiveMaximum": plain, "multipleOf": plain,
	"minLength": length, "maxLength": length, "pattern": plain,
	"allOf": list, "anyOf": list, "oneOf": list, "not": one, "if": one, "then": one, "else": one,
	"$ref": reference, "$defs": byName, "definitions": byName, "$schema": dialect,
	"title": plain, "description": plain, "$comment": plain, "format": plain, "default": plain, "examples": plain,
	"deprecated": plain, "readOnly": plain, "writeOnly": plain, "contentEncoding": plain, "contentMediaType": plain,
}

// draft2020 and draft7 are the keywords of one draft, which do nothing under the other.
var (
	draft2020 = with(map[string]form{
		"items": one, "prefixItems": list, "minContains": length, "maxContains": length, "unevaluatedItems": one,
		"dependentRequired": plain, "dependentSchemas": byName, "unevaluatedProperties": one,
	})
	draft7 = with(map[string]form{"items": oneOrList, "additionalItems": one, "dependencies": nameOrOne})
)

func with(own map[string]form) map[string]form {
	maps.Copy(own, common)
	return own
}

const dialect7 = "http://json-schema.org/draft-07/schema"

// dialects are the values of $schema without their empty fragment.
var dialects = map[string]map[string]form{
	"https://json-schema.org/draft/2020-12/schema": draft2020,
	dialect7: draft7,
}

// keywordsOf returns the keywords of the schema's draft.
func keywordsOf(root any) map[string]form {
	m, _ := root.(map[string]any)
	name, _ := m["$schema"].(string)
	if known, ok := dialects[strings.TrimSuffix(name, "#")]; ok {
		return known
	}
	return draft2020
}

// schemasIn calls visit for each schema that a keyword's value holds, with the rest of its place. What should be a
// schema and is not is left to the library.
func schemasIn(f form, v any, visit func(node any, rest string) error) error {
	switch v := v.(type) {
	case []any:
		if f != list && f != oneOrList {
			return nil
		}
		for i, node := range v {
			if err := visit(node, pointer(i)); err != nil {
				return err
			}
		}
	case map[string]any:
		switch f {
		case one, oneOrList:
			return visit(v, "")
		case byName, nameOrOne:
			return eachSorted(v, func(name string, node any) error { return visit(node, "/"+escape(name)) })
		}
	}
	return nil
}
