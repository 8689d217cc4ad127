package approvals

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
)

// TestAuditDataIsSorted keeps the fields in the order of their JSON names: what is written is then what is hashed
// after a store has read it as JSON and written it with sorted keys.
func TestAuditDataIsSorted(t *testing.T) {
	t.Parallel()
	full := reflect.New(reflect.TypeFor[auditData]()).Elem()
	for i := range full.NumField() {
		switch f := full.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("<x>")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Array:
			f.Set(reflect.ValueOf(agent.Digest{1}))
		default:
			t.Fatalf("field %s of kind %s", full.Type().Field(i).Name, f.Kind())
		}
	}
	written := full.Interface().(auditData)
	data, err := written.encode()
	if err != nil {
		t.Fatal(err)
	}
	said, err := readData(data)
	if err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(said)
	if err != nil || string(sorted) != string(data) {
		t.Errorf("written %s, sorted %s, %v", data, sorted, err)
	}
	if len(said) != full.NumField() {
		t.Errorf("%d of %d fields written", len(said), full.NumField())
	}
	var names []string
	for name := range said {
		names = append(names, name)
	}
	if slices.Contains(names, "") {
		t.Error("a field without a name")
	}
	if empty, err := (&auditData{}).encode(); empty != nil || err != nil {
		t.Errorf("no data is %s, %v", empty, err)
	}
}

// TestAuditDataIsJSON compares what is written with what json.Marshal makes of the same data.
func TestAuditDataIsJSON(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{"req_1", "a\"b\\c", "<&>", "\u2028",
		"\xff\x00", "\x7f", "ä"}))
	rapid.Check(t, func(t *rapid.T) {
		var d auditData
		v := reflect.ValueOf(&d).Elem()
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.String:
				f.SetString(texts.Draw(t, "text"))
			case reflect.Int, reflect.Int64:
				f.SetInt(rapid.Int64().Draw(t, "number"))
			case reflect.Bool:
				f.SetBool(rapid.Bool().Draw(t, "flag"))
			case reflect.Array:
				f.Set(reflect.ValueOf(agent.Digest{rapid.Byte().Draw(t, "digest")}))
			}
		}
		got, err := d.encode()
		want, wantErr := json.Marshal(d)
		if d == (auditData{}) {
			want = nil
		}
		if string(got) != string(want) || err != nil || wantErr != nil {
			t.Errorf("written %s, %v, want %s, %v", got, err, want, wantErr)
		}
	})
}
