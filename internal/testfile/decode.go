package testfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/agentsfile"
)

// decoder fills structs from the values of a file. A field's tag `key` is its key in the file; "need" after a comma
// makes it one that must be there. A field At of the type agentsfile.Position becomes the place of the mapping.
type decoder struct{ problems agentsfile.Problems }

func (d *decoder) problem(at agentsfile.Position, format string, args ...any) {
	d.problems = append(d.problems, &agentsfile.Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

var (
	rawJSON  = reflect.TypeFor[json.RawMessage]()
	position = reflect.TypeFor[agentsfile.Position]()
)

// decode fills target. what names the value in problems.
func (d *decoder) decode(v agentsfile.Value, target reflect.Value, what string) {
	if target.Type() == rawJSON {
		d.decodeJSON(v, target)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		d.decode(v, target.Elem(), what)
	case reflect.Struct:
		d.decodeStruct(v, target, what)
	case reflect.Slice:
		d.decodeList(v, target, what)
	case reflect.Map:
		d.decodeMap(v, target, what)
	case reflect.String:
		if d.is(v, agentsfile.String, what) {
			target.SetString(v.Text())
		}
	case reflect.Bool:
		if d.is(v, agentsfile.Boolean, what) {
			target.SetBool(v.Text() == "true")
		}
	case reflect.Int:
		d.decodeInteger(v, target, what)
	default:
		panic("testfile: no way to read a " + target.Type().String())
	}
}

// is reports whether the value is of the kind, and notes a problem where it is not.
func (d *decoder) is(v agentsfile.Value, want agentsfile.Kind, what string) bool {
	if v.Kind() == want {
		return true
	}
	hint := ""
	scalars := []agentsfile.Kind{agentsfile.Integer, agentsfile.Number, agentsfile.Boolean}
	if want == agentsfile.String && slices.Contains(scalars, v.Kind()) {
		hint = "; put it in quotes"
	}
	if want == agentsfile.Mapping && v.Kind() == agentsfile.Null {
		hint = "; write {} where there is nothing to say"
	}
	d.problem(v.Position(), "%s is %s, not %s%s", what, want, v.Kind(), hint)
	return false
}

func (d *decoder) decodeJSON(v agentsfile.Value, target reflect.Value) {
	data, err := v.JSON()
	if problems, ok := err.(agentsfile.Problems); ok {
		d.problems = append(d.problems, problems...)
		return
	}
	target.SetBytes(data)
}

func (d *decoder) decodeInteger(v agentsfile.Value, target reflect.Value, what string) {
	if !d.is(v, agentsfile.Integer, what) {
		return
	}
	n, err := strconv.ParseInt(v.Text(), 10, 32)
	if err != nil || n < 0 {
		d.problem(v.Position(), "%s is a number from 0, not %s", what, v.Text())
		return
	}
	target.SetInt(n)
}

// decodeList reads a list. One text may stand for a list of one.
func (d *decoder) decodeList(v agentsfile.Value, target reflect.Value, what string) {
	if v.Kind() == agentsfile.String && target.Type().Elem().Kind() == reflect.String {
		target.Set(reflect.Append(target, reflect.ValueOf(v.Text()).Convert(target.Type().Elem())))
		return
	}
	if !d.is(v, agentsfile.Sequence, what) {
		return
	}
	items := v.Items()
	list := reflect.MakeSlice(target.Type(), len(items), len(items))
	for i, item := range items {
		d.decode(item, list.Index(i), "an item of "+what)
	}
	target.Set(list)
}

func (d *decoder) decodeMap(v agentsfile.Value, target reflect.Value, what string) {
	if !d.is(v, agentsfile.Mapping, what) {
		return
	}
	target.Set(reflect.MakeMap(target.Type()))
	for _, e := range v.Entries() {
		item := reflect.New(target.Type().Elem()).Elem()
		d.decode(e.Value, item, e.Key)
		target.SetMapIndex(reflect.ValueOf(e.Key), item)
	}
}

func (d *decoder) decodeStruct(v agentsfile.Value, target reflect.Value, what string) {
	if at := target.FieldByName("At"); at.IsValid() && at.Type() == position {
		at.Set(reflect.ValueOf(v.Position()))
	}
	if !d.is(v, agentsfile.Mapping, what) {
		return
	}
	fields := fieldsOf(target.Type())
	var there []string
	for _, e := range v.Entries() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.Key })
		switch {
		case i < 0:
			d.unknown(e, what, fields)
		case e.Value.Kind() == agentsfile.Null && target.Field(fields[i].index).Type() != rawJSON:
			d.problem(e.Position, "%s has no value; write one, or leave the key out", e.Key)
		default:
			there = append(there, e.Key)
			d.decode(e.Value, target.Field(fields[i].index), e.Key)
		}
	}
	for _, f := range fields {
		if f.need && !slices.Contains(there, f.key) {
			d.problem(v.Position(), "%s needs %q", what, f.key)
		}
	}
}

// unknown notes a key that the struct has no field for.
func (d *decoder) unknown(e agentsfile.Entry, what string, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	if near := agentsfile.Nearest(e.Key, names); near != "" {
		d.problem(e.Position, "unknown key %q in %s; did you mean %q?", e.Key, what, near)
		return
	}
	d.problem(e.Position, "unknown key %q in %s; known are %s", e.Key, what, strings.Join(names, ", "))
}

// field is a field of a struct that the file may set.
type field struct {
	key   string
	index int
	need  bool
}

func fieldsOf(t reflect.Type) (fields []field) {
	for i := range t.NumField() {
		if tag, ok := t.Field(i).Tag.Lookup("key"); ok {
			key, option, _ := strings.Cut(tag, ",")
			fields = append(fields, field{key, i, option == "need"})
		}
	}
	return fields
}
