package celpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// rootType is the name that the checker knows the arguments' type by. No expression can name it.
const rootType = "{args}"

// shape is what the schema says about a value, as far as an expression can use it. What it does not say, or says in
// a way that leaves a choice, has the dynamic type.
type shape struct {
	typ    *cel.Type
	fields map[string]*shape // of an object with known properties
	items  *shape            // of a list, or of a map's values
}

// dynamic is the shape of a value of which nothing is known.
func dynamic() *shape { return &shape{typ: cel.DynType} }

// schema is the part of a JSON Schema that shapes come from.
type schema struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	PatternProperties    json.RawMessage            `json:"patternProperties"`
	Items                json.RawMessage            `json:"items"`
}

// shapes are the object types of one schema, as a type provider for the checker.
type shapes struct {
	types.Provider
	root    *shape
	objects map[string]*shape
}

func newShapes(parameters json.RawMessage) (*shapes, error) {
	base, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	s := &shapes{Provider: base, objects: make(map[string]*shape)}
	if len(parameters) == 0 {
		s.root = &shape{typ: cel.MapType(cel.StringType, cel.DynType)}
		return s, nil
	}
	s.root, err = s.shape(rootType, parameters)
	return s, err
}

func (s *shapes) shape(name string, raw json.RawMessage) (*shape, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return dynamic(), nil // true, false, or nothing
	}
	var sc schema
	if err := json.Unmarshal(raw, &sc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var typ string
	if json.Unmarshal(sc.Type, &typ) != nil {
		return dynamic(), nil // none, or several
	}
	switch typ {
	case "string":
		return &shape{typ: cel.StringType}, nil
	case "boolean":
		return &shape{typ: cel.BoolType}, nil
	case "integer":
		return &shape{typ: cel.IntType}, nil
	case "number":
		return &shape{typ: cel.DoubleType}, nil
	case "array":
		items, err := s.shape(name+"[]", sc.Items)
		if err != nil {
			return nil, err
		}
		return &shape{typ: cel.ListType(items.typ), items: items}, nil
	case "object":
		return s.object(name, &sc)
	}
	return dynamic(), nil
}

// object is typed when the schema lists its properties and does not invite others.
func (s *shapes) object(name string, sc *schema) (*shape, error) {
	open := len(sc.AdditionalProperties) > 0 && string(bytes.TrimSpace(sc.AdditionalProperties)) != "false"
	o := &shape{typ: cel.MapType(cel.StringType, cel.DynType), items: dynamic()}
	if len(sc.Properties) == 0 || open || len(sc.PatternProperties) > 0 {
		return o, nil
	}
	o = &shape{typ: cel.ObjectType(name), fields: make(map[string]*shape)}
	for key, raw := range sc.Properties {
		field, err := s.shape(name+"."+key, raw)
		if err != nil {
			return nil, err
		}
		o.fields[key] = field
	}
	s.objects[name] = o
	return o, nil
}

// FindStructType is part of types.Provider.
func (s *shapes) FindStructType(name string) (*types.Type, bool) {
	if o, ok := s.objects[name]; ok {
		return types.NewTypeTypeWithParam(o.typ), true
	}
	return s.Provider.FindStructType(name)
}

// FindStructFieldNames is part of types.Provider.
func (s *shapes) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := s.objects[name]; ok {
		return slices.Sorted(maps.Keys(o.fields)), true
	}
	return s.Provider.FindStructFieldNames(name)
}

// FindStructFieldType is part of types.Provider. The types have no getters: values are maps.
func (s *shapes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	o, ok := s.objects[name]
	if !ok {
		return s.Provider.FindStructFieldType(name, field)
	}
	f, ok := o.fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.typ}, true
}

// NewValue is part of types.Provider. Expressions cannot make objects of the arguments' types.
func (s *shapes) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := s.objects[name]; ok {
		return types.NewErr("%s cannot be constructed", name)
	}
	return s.Provider.NewValue(name, fields)
}

var errArguments = errors.New("the arguments are not what the tool's schema says")

// decode turns canonical JSON into values of the types the expression was checked with.
func (s *shape) decode(data json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errArguments
	}
	if v, ok := v.(map[string]any); ok {
		return s.value(v)
	}
	return nil, errArguments
}

func (s *shape) value(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return s.number(v)
	case []any:
		for i := range v {
			item, err := s.item().value(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
		return v, nil
	case map[string]any:
		for key := range v {
			field, err := s.field(key).value(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = field
		}
		return v, nil
	}
	return v, nil
}

func (s *shape) item() *shape {
	if s.items != nil {
		return s.items
	}
	return dynamic()
}

func (s *shape) field(key string) *shape {
	if f, ok := s.fields[key]; ok {
		return f
	}
	return s.item()
}

// number reads whole numbers as integers unless the schema says number.
func (s *shape) number(n json.Number) (any, error) {
	if s.typ != cel.DoubleType {
		if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
			return i, nil
		}
		if s.typ == cel.IntType {
			return nil, errArguments
		}
	}
	f, err := n.Float64()
	if err != nil {
		return nil, errArguments
	}
	return f, nil
}
