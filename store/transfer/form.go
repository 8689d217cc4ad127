package transfer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Form returns the record as bytes: two records have the same form if and only if no reader of a store can tell them
// apart. All fields that are stored are in it, in the order of their declaration: a time as the instant it names, a
// list that is nil as an empty one, raw JSON within a record without the white space between its parts, of which
// earlier versions have left some and which not every store keeps, and everything else as it is, states, sessions and
// secrets byte for byte. The form is for comparing and summing within one version of the program; it is never kept.
func Form(r Record) []byte {
	switch r := r.(type) {
	case State:
		return appendForm(nil, reflect.ValueOf(stateForm{r.Key(), r.Head}))
	case StateChunk:
		return appendForm(nil, reflect.ValueOf(stateForm{r.Key(), r.Items}))
	case SessionChunk:
		return appendForm(nil, reflect.ValueOf(stateForm{r.Key(), r.Items}))
	}
	return appendForm(nil, reflect.ValueOf(r))
}

// stateForm is a record whose value is any bytes.
type stateForm struct {
	key   Key
	value []byte
}

func appendForm(b []byte, v reflect.Value) []byte {
	switch v.Type() {
	case timeType:
		return appendInstant(b, v.Interface().(time.Time))
	case rawType:
		v = reflect.ValueOf(compact(v.Bytes()))
	}
	switch v.Kind() {
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendForm(append(b, 1), v.Elem())
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		return appendElements(b, v)
	case reflect.Array:
		return appendElements(b, v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				b = appendForm(b, v.Field(i))
			}
		}
		return b
	}
	panic(fmt.Sprintf("transfer: a record has a %s, which has no form", v.Type()))
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// compact returns JSON without white space between its parts; what is none, as it is.
func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func appendElements(b []byte, v reflect.Value) []byte {
	for i := range v.Len() {
		b = appendForm(b, v.Index(i))
	}
	return b
}

// appendInstant appends seconds and nanoseconds: UnixNano tells only some centuries apart.
func appendInstant(b []byte, t time.Time) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, t.Unix()), int64(t.Nanosecond()))
}
