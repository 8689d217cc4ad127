package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"

	"countersign/approvals"
)

// Records are stored in a binary form of their own: reading and writing them as JSON was a third of what a decision
// costs.
//
// A struct is a number of fields and then these fields, in the order of their declaration; those at the end that are
// zero are left out. So fields added at the end read as zero from older records, and older programs read records that
// do not use them; anything else that changes a struct needs a new number of the format (TestSchema watches over
// that). Numbers are varints; strings, bytes and lists begin with their length, and nil lists differ from empty ones;
// a pointer begins with 0 or 1; a time is its MarshalBinary, nothing when it is zero. Bytes, raw JSON for instance,
// are kept as they are.
type codec struct {
	encode func(b []byte, v reflect.Value) []byte
	decode func(r *reader, v reflect.Value) // v is zero before
}

// codecs has the codec of every type that is stored as a record.
var codecs = newCodecs(approvals.Run{}, approvals.RequestHead{}, approvals.RequestContent{}, approvals.QueuedInput{},
	approvals.EffectRecord{}, approvals.Grant{}, approvals.AuditEntry{}, approvals.Notification{}, jobRecord{},
	approvals.Callback{}, approvals.Installation{}, fileKeys{})

func newCodecs(samples ...any) map[reflect.Type]codec {
	all := make(map[reflect.Type]codec)
	for _, s := range samples {
		t := reflect.TypeOf(s)
		all[t] = newCodec(t)
	}
	return all
}

var (
	errUnreadable = errors.New("unreadable record")
	errNewerField = errors.New("a record with fields that this program does not know")
)

// appendRecord appends the record that p points to.
func appendRecord(b []byte, p any) []byte {
	v := reflect.ValueOf(p).Elem()
	return codecs[v.Type()].encode(b, v)
}

// readRecord reads into what p points to. It shares nothing with data.
func readRecord(data []byte, p any) error {
	v := reflect.ValueOf(p).Elem()
	return codecs[v.Type()].read(data, v)
}

// read reads all of data into v.
func (c codec) read(data []byte, v reflect.Value) error {
	r := &reader{rest: string(data)} // strings are parts of this one copy
	v.SetZero()
	c.decode(r, v)
	if r.err == nil && r.rest != "" {
		r.err = errUnreadable
	}
	return r.err
}

// reader takes a record apart. After an error everything reads as zero.
type reader struct {
	rest string
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = ""
}

func (r *reader) uint() uint64 {
	var n uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		c := r.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.fail(errUnreadable)
	return 0
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// take returns the next n bytes.
func (r *reader) take(n uint64) string {
	if n > uint64(len(r.rest)) {
		r.fail(errUnreadable)
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// length reads the length of something that may be nil.
func (r *reader) length() (n uint64, isNil bool) {
	n = r.uint()
	if n == 0 {
		return 0, true
	}
	return n - 1, false
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// newCodec returns the codec of a type. It panics for types that no record has.
func newCodec(t reflect.Type) codec {
	switch {
	case t == timeType:
		return codec{encodeTime, decodeTime}
	case t.ConvertibleTo(bytesType) && t.Kind() == reflect.Slice:
		return codec{encodeBytes, decodeBytes}
	}
	switch t.Kind() {
	case reflect.String:
		return codec{
			func(b []byte, v reflect.Value) []byte { return appendString(b, v.String()) },
			func(r *reader, v reflect.Value) { v.SetString(r.take(r.uint())) },
		}
	case reflect.Int, reflect.Int64:
		return codec{
			func(b []byte, v reflect.Value) []byte { return binary.AppendVarint(b, v.Int()) },
			func(r *reader, v reflect.Value) { v.SetInt(r.int()) },
		}
	case reflect.Uint64:
		return codec{
			func(b []byte, v reflect.Value) []byte { return binary.AppendUvarint(b, v.Uint()) },
			func(r *reader, v reflect.Value) { v.SetUint(r.uint()) },
		}
	case reflect.Bool:
		return codec{
			func(b []byte, v reflect.Value) []byte {
				if v.Bool() {
					return append(b, 1)
				}
				return append(b, 0)
			},
			func(r *reader, v reflect.Value) { v.SetBool(r.uint() != 0) },
		}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return codec{
				func(b []byte, v reflect.Value) []byte { return append(b, v.Bytes()...) },
				func(r *reader, v reflect.Value) { copy(v.Bytes(), r.take(uint64(v.Len()))) },
			}
		}
	case reflect.Pointer:
		return pointerCodec(t)
	case reflect.Slice:
		return sliceCodec(t)
	case reflect.Struct:
		return structCodec(t)
	}
	panic(fmt.Sprintf("boltstore cannot store a %s", t))
}

func encodeTime(b []byte, v reflect.Value) []byte {
	at := *v.Addr().Interface().(*time.Time)
	if at.IsZero() {
		return append(b, 0)
	}
	start := len(b)
	all, err := at.AppendBinary(append(b, 0))
	if err != nil { // no zone of this earth
		all, _ = at.UTC().AppendBinary(append(b, 0))
	}
	all[start] = byte(len(all) - start - 1)
	return all
}

func decodeTime(r *reader, v reflect.Value) {
	s := r.take(r.uint())
	if s == "" {
		return
	}
	if err := v.Addr().Interface().(*time.Time).UnmarshalBinary([]byte(s)); err != nil {
		r.fail(errUnreadable)
	}
}

func encodeBytes(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(v.Len())+1), v.Bytes()...)
}

func decodeBytes(r *reader, v reflect.Value) {
	n, isNil := r.length()
	if isNil {
		return
	}
	v.SetBytes([]byte(r.take(n)))
}

func pointerCodec(t reflect.Type) codec {
	elem := newCodec(t.Elem())
	return codec{
		func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			return elem.encode(append(b, 1), v.Elem())
		},
		func(r *reader, v reflect.Value) {
			if r.uint() == 0 {
				return
			}
			v.Set(reflect.New(t.Elem()))
			elem.decode(r, v.Elem())
		},
	}
}

func sliceCodec(t reflect.Type) codec {
	elem := newCodec(t.Elem())
	return codec{
		func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, 0)
			}
			b = binary.AppendUvarint(b, uint64(v.Len())+1)
			for i := range v.Len() {
				b = elem.encode(b, v.Index(i))
			}
			return b
		},
		func(r *reader, v reflect.Value) {
			n, isNil := r.length()
			if isNil {
				return
			}
			if n > uint64(len(r.rest)) { // every element takes a byte at least
				r.fail(errUnreadable)
				return
			}
			if n == 0 {
				v.Set(reflect.MakeSlice(t, 0, 0)) // not nil
			}
			v.Grow(int(n))
			v.SetLen(int(n))
			for i := range int(n) {
				elem.decode(r, v.Index(i))
			}
		},
	}
}

// structCodec leaves out the fields that are not stored.
func structCodec(t reflect.Type) codec {
	type field struct {
		index int
		codec
	}
	var fields []field
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("json") != "-" {
			fields = append(fields, field{i, newCodec(t.Field(i).Type)})
		}
	}
	return codec{
		func(b []byte, v reflect.Value) []byte {
			n := len(fields)
			for n > 0 && v.Field(fields[n-1].index).IsZero() {
				n--
			}
			b = binary.AppendUvarint(b, uint64(n))
			for _, f := range fields[:n] {
				b = f.encode(b, v.Field(f.index))
			}
			return b
		},
		func(r *reader, v reflect.Value) {
			n := r.uint()
			if n > uint64(len(fields)) {
				r.fail(errNewerField)
				return
			}
			for _, f := range fields[:n] {
				f.decode(r, v.Field(f.index))
			}
		},
	}
}
