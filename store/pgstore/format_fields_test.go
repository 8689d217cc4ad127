package pgstore

import (
	"encoding"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

var updateFields = flag.Bool("update", false, "rewrite testdata/fields.txt")

// records are what is kept as JSON, by kind.
var records = map[string]any{
	kindRun: approvals.Run{}, kindHead: approvals.RequestHead{}, kindContent: approvals.RequestContent{},
	kindEffect: approvals.EffectRecord{}, kindGrant: approvals.Grant{}, kindInput: approvals.QueuedInput{},
	kindNotification: approvals.Notification{}, kindCallback: approvals.Callback{}, kindInstallation: installed{},
	"audit entry": approvals.AuditEntry{},
}

// TestFields compares the fields of the stored records with those of the format that this program writes.
func TestFields(t *testing.T) {
	t.Parallel()
	var lines []string
	for kind, record := range records {
		lines = append(lines, fieldsOf(kind, reflect.TypeOf(record), nil)...)
	}
	slices.Sort(lines)
	got := fmt.Sprintf("format %d\n%s\n", formatNow, strings.Join(slices.Compact(lines), "\n"))
	path := filepath.Join("testdata", "fields.txt")
	if *updateFields {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("the fields of the stored records have changed, and a replica of the last release refuses a field "+
			"that it does not know: with the first change since that release raise formatNow, list what was added in "+
			"laterFields, and run this test with -update; with further changes the last two. (-file +code)\n%s", d)
	}
}

// fieldsOf lists the names in the JSON of a type, those within others behind a dot. above are the types around it.
func fieldsOf(name string, t reflect.Type, above []reflect.Type) (lines []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	own := t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]())
	if t.Kind() != reflect.Struct || own || slices.Contains(above, t) {
		return nil
	}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && tag == "":
			lines = append(lines, fieldsOf(name, f.Type, append(above, t))...)
		default:
			if tag == "" {
				tag = f.Name
			}
			at := name + "." + tag
			lines = append(lines, at)
			lines = append(lines, fieldsOf(at, f.Type, append(above, t))...)
		}
	}
	return lines
}
