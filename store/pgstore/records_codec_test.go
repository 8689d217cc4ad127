package pgstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
)

// decodeSlowly is decode by encoding/json, which writes the records.
func decodeSlowly(data []byte, record any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(record)
}

// TestDecodesWhatIsEncoded: of any record decode reads the same as encoding/json.
func TestDecodesWhatIsEncoded(t *testing.T) {
	t.Parallel()
	for _, kind := range slices.Sorted(maps.Keys(records)) {
		of := reflect.TypeOf(records[kind])
		rapid.Check(t, func(r *rapid.T) {
			record := reflect.New(of)
			fill(r, record.Elem(), 0)
			data, err := encode(record.Interface())
			if err != nil {
				r.Fatal(kind, err)
			}
			want, got := reflect.New(of), reflect.New(of)
			if err := errors.Join(decodeSlowly(data, want.Interface()), decode(data, got.Interface())); err != nil {
				r.Fatalf("%s: %v\n%s", kind, err, data)
			}
			if d := cmp.Diff(want.Interface(), got.Interface(), cmp.AllowUnexported(installed{})); d != "" {
				r.Fatalf("%s (-encoding/json +decode):\n%s\n%s", kind, d, data)
			}
		})
	}
}

// fill fills a record with whatever its fields can hold.
func fill(r *rapid.T, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		at := time.Unix(rapid.Int64Range(-1<<31, 1<<33).Draw(r, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(r, "ns"))
		v.Set(reflect.ValueOf(at.In(rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 5*3600)}).
			Draw(r, "zone"))))
		return
	case json.RawMessage:
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `{"a":1,"a":"2"}`, "{\"\xff\":\"\xfe<&>\\ud800\"}",
			`[1e400, 12345678901234567890, null]`, `null`, `" "`}).Draw(r, "JSON")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		odd := rapid.SampledFrom([]string{"", "\x00\xff", "<&>\u2028"})
		v.SetString(rapid.OneOf(rapid.String(), odd).Draw(r, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(r, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(r, "number"))
	case reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(rapid.Uint64().Draw(r, "number") >> (64 - v.Type().Bits()))
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth)
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() || f.Anonymous {
				fill(r, field, depth)
			}
		}
	case reflect.Pointer:
		if depth < 4 && rapid.Bool().Draw(r, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 2).Draw(r, "length"); n >= 0 && depth < 4 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 2).Draw(r, "length"); n >= 0 && depth < 4 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, depth+1)
				fill(r, value, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	default:
		r.Fatalf("a record has a field of type %s", v.Type())
	}
}

// FuzzDecode: what decode takes, of whatever stands in the column, is read alike by both when it is written again.
func FuzzDecode(f *testing.F) {
	data, err := encode(approvals.RequestHead{ID: "req_1", Path: []string{"a"}, Digest: agent.Digest{1},
		Created: time.Unix(1, 2).UTC(), Requirement: approvals.Requirement{ExpiresIn: time.Hour}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, s := range []string{`{"path":null}`, `{"ID":"r"}`, `{"version":1e3}`, `{"id":"a","id":"b"}`, `{"id":"\xff"}`,
		`{"decisions":[{"arguments":{"a":1,"a":2}}]} `, `{"digest":"00"}`, `{"created":"now"}`, `null`, `{} {}`,
		`{"created":"\u0032026-01-01T00:00:00Z"}`, `{"place":{"channel":"a"},"place":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var taken, got, want approvals.RequestHead
		if decode(data, &taken) != nil {
			return
		}
		again, err := encode(&taken)
		if err != nil {
			return // a year of five digits
		}
		if err := errors.Join(decode(again, &got), decodeSlowly(again, &want)); err != nil {
			t.Fatalf("what was taken is not read again: %v", err)
		}
		if d := cmp.Diff(&want, &got); d != "" {
			t.Errorf("(-encoding/json +decode):\n%s", d)
		}
	})
}

// TestDecodeSaysWhatIsWrong: what only a newer version can have written is told from damage, at any depth, and by name.
func TestDecodeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]error{
		`{"id":"req_1","colour":"red"}`:                       ErrNewer,
		`{"requirement":{"seats":[{"colour":1}]}}`:            ErrNewer,
		`{"id":"req_1"`:                                       ErrDamaged,
		`{"id":"req_1"}x`:                                     ErrDamaged,
		`{"version":"secret"}`:                                ErrDamaged,
		`{"version":9e9999999}`:                               ErrDamaged,
		`{"path":{"x":"secret"}}`:                             ErrDamaged,
		`{"place":["secret"]}`:                                ErrDamaged,
		`{"digest":"secret"}`:                                 ErrDamaged,
		`{"created":"secret"}`:                                ErrDamaged,
		`{"decisions":[{"arguments":{"secret key":truu}}]}`:   ErrDamaged,
		`{"decisions":[{"arguments":{"secret key":{"a":1`:     ErrDamaged,
		`{"decisions":[{"arguments":{"a":"secret"},"at":7}]}`: ErrDamaged,
		``: ErrDamaged,
	} {
		err := decode([]byte(data), new(approvals.RequestHead))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", data, err, want)
		}
		if err == nil {
			continue
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "9999999") {
			t.Errorf("%s: a value is repeated: %v", data, err)
		}
		if want == ErrNewer && !strings.Contains(err.Error(), "colour") {
			t.Errorf("%s: the field is not named: %v", data, err)
		}
	}
}
