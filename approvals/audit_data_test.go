package approvals

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

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
	data, err := full.Interface().(auditData).encode()
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
	if empty, err := (auditData{}).encode(); empty != nil || err != nil {
		t.Errorf("no data is %s, %v", empty, err)
	}
}
