// Package shape describes the JSON that Go types accept: a schema to tell a model, and a check of what it writes.
package shape

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Shape describes the JSON that a Go type accepts. Schema and validation are both made from it, so they cannot differ.
type Shape struct {
	kind     shapeKind
	nullable bool
	doc      string
	enum     []string           // strings
	format   string             // strings
	text     func(string) error // strings: checks what the type demands beyond being a string
	number   reflect.Type       // integers and numbers
	length   int                // arrays of fixed length; -1 for slices
	element  *Shape             // arrays and maps
	fields   []property         // objects, in the order of the struct
}

type property struct {
	name string
	*Shape
}

type shapeKind string

const (
	shapeAny     shapeKind = ""
	shapeObject  shapeKind = "object"
	shapeMap     shapeKind = "map"
	shapeArray   shapeKind = "array"
	shapeString  shapeKind = "string"
	shapeInteger shapeKind = "integer"
	shapeNumber  shapeKind = "number"
	shapeBoolean shapeKind = "boolean"
)

var (
	typeTime        = reflect.TypeFor[time.Time]()
	typeDuration    = reflect.TypeFor[time.Duration]()
	typeRaw         = reflect.TypeFor[json.RawMessage]()
	typeNumber      = reflect.TypeFor[json.Number]()
	typeUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	typeText        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Of returns the shape of the arguments type.
func Of(t reflect.Type) (*Shape, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("arguments must be a struct, not %v", t)
	}
	b := shapeBuilder{at: []string{t.Name()}}
	s, err := b.build(t)
	if err == nil && s.kind != shapeObject {
		err = b.refuse("arguments must be a plain struct, not %v", t)
	}
	return s, err
}

// shapeBuilder walks through a type; it knows where it is, for errors, and which structs it is inside of.
type shapeBuilder struct {
	at     []string
	inside []reflect.Type
}

func (b *shapeBuilder) refuse(format string, args ...any) error {
	return fmt.Errorf("field %s: %s", strings.Join(b.at, "."), fmt.Sprintf(format, args...))
}

func (b *shapeBuilder) build(t reflect.Type) (*Shape, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		s, err := b.build(t.Elem())
		if err != nil {
			return nil, err
		}
		s.nullable = s.kind != shapeAny
		return s, nil
	case t == typeTime:
		return &Shape{kind: shapeString, format: "date-time", text: decodesText(t)}, nil
	case t == typeDuration:
		return nil, b.refuse("a time.Duration counts nanoseconds, which no model expects; " +
			"use a number with a unit in its name, or a string")
	case t == typeNumber:
		return &Shape{kind: shapeNumber, number: reflect.TypeFor[float64]()}, nil
	case t == typeRaw || reflect.PointerTo(t).Implements(typeUnmarshaler):
		return &Shape{}, nil
	case reflect.PointerTo(t).Implements(typeText):
		return &Shape{kind: shapeString, text: decodesText(t)}, nil
	}
	return b.buildKind(t)
}

func (b *shapeBuilder) buildKind(t reflect.Type) (*Shape, error) {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return &Shape{kind: shapeBoolean}, nil
	case k == reflect.String:
		return &Shape{kind: shapeString}, nil
	case k >= reflect.Int && k <= reflect.Uint64:
		return &Shape{kind: shapeInteger, number: t}, nil
	case k == reflect.Float32 || k == reflect.Float64:
		return &Shape{kind: shapeNumber, number: t}, nil
	case k == reflect.Interface && t.NumMethod() == 0:
		return &Shape{}, nil
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &Shape{kind: shapeString, text: isBase64}, nil
	case k == reflect.Slice || k == reflect.Array:
		return b.list(t)
	case k == reflect.Map && t.Key().Kind() == reflect.String:
		element, err := b.within("{}", t.Elem())
		return &Shape{kind: shapeMap, element: element}, err
	case k == reflect.Struct:
		return b.object(t)
	}
	return nil, b.refuse("%v cannot be an argument", t)
}

// within builds the shape of something inside the current place.
func (b *shapeBuilder) within(name string, t reflect.Type) (*Shape, error) {
	b.at = append(b.at, name)
	s, err := b.build(t)
	b.at = b.at[:len(b.at)-1]
	return s, err
}

func (b *shapeBuilder) list(t reflect.Type) (*Shape, error) {
	element, err := b.within("[]", t.Elem())
	s := &Shape{kind: shapeArray, element: element, length: -1}
	if t.Kind() == reflect.Array {
		s.length = t.Len()
	}
	return s, err
}

func (b *shapeBuilder) object(t reflect.Type) (*Shape, error) {
	if slices.Contains(b.inside, t) {
		return nil, b.refuse("%v contains itself", t)
	}
	b.inside = append(b.inside, t)
	s := &Shape{kind: shapeObject}
	err := b.fields(s, t)
	b.inside = b.inside[:len(b.inside)-1]
	return s, err
}

// fields adds the fields of t to s, those of embedded structs among them.
func (b *shapeBuilder) fields(s *Shape, t reflect.Type) error {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && name == "" && structBehind(f.Type) != nil
		switch {
		case name == "-" && options == "", !f.IsExported() && !embedded:
			continue
		case embedded && !f.IsExported() && f.Type.Kind() == reflect.Pointer:
			return b.refuse("%s is an embedded pointer to an unexported type", f.Name)
		case embedded:
			if err := b.embed(s, f); err != nil {
				return err
			}
		default:
			if name == "" {
				name = f.Name
			}
			if err := b.field(s, f, name, strings.Split(options, ",")); err != nil {
				return err
			}
		}
	}
	return nil
}

// structBehind returns the struct that an embedded field promotes, or nil.
func structBehind(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	if t.Kind() != reflect.Struct || t == typeTime || p.Implements(typeUnmarshaler) || p.Implements(typeText) {
		return nil
	}
	return t
}

func (b *shapeBuilder) embed(s *Shape, f reflect.StructField) error {
	t := structBehind(f.Type)
	if slices.Contains(b.inside, t) {
		return b.refuse("%v contains itself", t)
	}
	b.at, b.inside = append(b.at, f.Name), append(b.inside, t)
	err := b.fields(s, t)
	b.at, b.inside = b.at[:len(b.at)-1], b.inside[:len(b.inside)-1]
	return err
}

func (b *shapeBuilder) field(s *Shape, f reflect.StructField, name string, options []string) error {
	b.at = append(b.at, f.Name)
	defer func() { b.at = b.at[:len(b.at)-1] }()
	for _, other := range s.fields {
		if strings.EqualFold(other.name, name) {
			return b.refuse("the property %q is there already, maybe in another case", name)
		}
	}
	if slices.Contains(options, "string") {
		return b.refuse("the json option string is not supported")
	}
	p, err := b.build(f.Type)
	if err != nil {
		return err
	}
	p.doc = f.Tag.Get("doc")
	if slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero") {
		p.nullable = p.kind != shapeAny
	}
	if list, ok := f.Tag.Lookup("enum"); ok {
		if err := b.enumerate(p, list); err != nil {
			return err
		}
	}
	s.fields = append(s.fields, property{name, p})
	return nil
}

// enumerate limits a string, or the elements of a list of strings, to the values of the tag.
func (b *shapeBuilder) enumerate(p *Shape, list string) error {
	if p.kind == shapeArray {
		p = p.element
	}
	if p.kind != shapeString || p.text != nil {
		return b.refuse("enum is for strings")
	}
	for value := range strings.SplitSeq(list, ",") {
		if value = strings.TrimSpace(value); value == "" || slices.Contains(p.enum, value) {
			return b.refuse("the enum has an empty or repeated value")
		}
		p.enum = append(p.enum, value)
	}
	return nil
}

// decodesText returns a check that the type itself accepts a text.
func decodesText(t reflect.Type) func(string) error {
	return func(text string) error {
		return reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
}

func isBase64(text string) error {
	_, err := base64.StdEncoding.DecodeString(text)
	return err
}
