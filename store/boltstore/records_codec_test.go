package boltstore

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden file")

// TestSchema compares the layout of the stored records with the one that files of this format have.
func TestSchema(t *testing.T) {
	t.Parallel()
	var lines []string
	for record := range codecs {
		lines = append(lines, schema(record.Name(), record)...)
	}
	slices.Sort(lines)
	got := fmt.Sprintf("format %d\n%s\n", format, strings.Join(slices.Compact(lines), "\n"))
	path := filepath.Join("testdata", "schema.txt")
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("the stored records have changed. Fields may be added at the end of a struct: "+
			"then run this test with -update. "+
			"For anything else raise the number of the format first. (-file +code)\n%s", d)
	}
}

// schema lists the fields of a struct, and of those within it, as they are stored.
func schema(name string, t reflect.Type) (lines []string) {
	switch {
	case t == timeType:
		return nil
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return schema(t.Elem().Name(), t.Elem())
	case t.Kind() != reflect.Struct:
		return nil
	}
	n := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" {
			continue
		}
		n++
		kind := f.Type.String()
		if f.Type.PkgPath() != "" && f.Type.Kind() != reflect.Struct && f.Type.Kind() != reflect.Array {
			kind = f.Type.Kind().String()
		}
		lines = append(lines, fmt.Sprintf("%s %02d %s %s", name, n, f.Name, kind))
		lines = append(lines, schema(f.Type.Name(), f.Type)...)
	}
	return lines
}

// TestRecordKept checks what storetest's records do not hold: what is nil or empty, and times of other places.
func TestRecordKept(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123456789, time.FixedZone("", 5*3600+45*60))
	for name, r := range map[string]*approvals.RequestHead{
		"zero":    {},
		"empty":   {Path: []string{}, Decisions: []approvals.Decision{{Arguments: []byte{}}}},
		"nothing": {Path: []string{""}, Decisions: []approvals.Decision{{}}},
		"times":   {Created: at, Expires: at.UTC(), Settled: time.Unix(0, 0).UTC()},
		"bytes": {Note: "\x00\xff<&>", Digest: agent.Digest{0, 0xff},
			Decisions: []approvals.Decision{{Arguments: []byte(" {} \n\x00\xff")}}},
		"numbers": {Version: -1 << 63, Requirement: approvals.Requirement{ExpiresIn: 1<<63 - 1}},
	} {
		got := &approvals.RequestHead{Note: "overwritten", Path: []string{"overwritten"}, Created: at}
		if err := readRecord(appendRecord(nil, r), got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(r, got); d != "" {
			t.Errorf("%s (-put +read):\n%s", name, d)
		}
	}
}

// TestRecordGrows reads a record that was written before the struct had its last field, and one of a newer program.
func TestRecordGrows(t *testing.T) {
	t.Parallel()
	type old struct{ A, B string }
	type grown struct {
		A, B string
		C    []int
	}
	before, after := newCodec(reflect.TypeFor[old]()), newCodec(reflect.TypeFor[grown]())
	o, g := old{"a", "b"}, grown{}
	r := &reader{rest: string(before.encode(nil, reflect.ValueOf(&o).Elem()))}
	after.decode(r, reflect.ValueOf(&g).Elem())
	if r.err != nil || g.A != "a" || g.B != "b" || g.C != nil {
		t.Errorf("read %+v, %v", g, r.err)
	}
	o, g.C = old{}, []int{1}
	r = &reader{rest: string(after.encode(nil, reflect.ValueOf(&g).Elem()))}
	if before.decode(r, reflect.ValueOf(&o).Elem()); !errors.Is(r.err, errNewerField) {
		t.Errorf("a newer record: %v", r.err)
	}
	unused := grown{A: "c"}
	o = old{}
	r = &reader{rest: string(after.encode(nil, reflect.ValueOf(&unused).Elem()))}
	if before.decode(r, reflect.ValueOf(&o).Elem()); r.err != nil || o.A != "c" || o.B != "" {
		t.Errorf("a newer record that does not use what is new: %+v, %v", o, r.err)
	}
}

// FuzzRecord reads anything as a record: it must end without a panic, and what can be read must be written the same
// way.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add(appendRecord(nil, &approvals.RequestHead{Path: []string{"a"}, Created: time.Unix(1, 2),
		Decisions: []approvals.Decision{{ID: "dec_1"}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, again := new(approvals.RequestHead), new(approvals.RequestHead)
		if readRecord(data, r) != nil {
			return
		}
		written := appendRecord(nil, r)
		// A zero time of another zone is written as a zero time, and then left out: the records are equal.
		err := readRecord(written, again)
		if err != nil || !cmp.Equal(appendRecord(nil, again), written) && !cmp.Equal(r, again) {
			t.Errorf("%x was read, written as %x and not read again: %v", data, written, err)
		}
	})
}

// BenchmarkRecord writes and reads the head of a request of the usual size.
func BenchmarkRecord(b *testing.B) {
	at := time.Unix(1_700_000_000, 0).UTC()
	r := &approvals.RequestHead{Workspace: "T0123456789", ID: approvals.NewRequestID(at), Run: approvals.NewRunID(at),
		Path: []string{"ops"}, Created: at, Expires: at, Settled: at,
		Requirement: approvals.Requirement{Policy: "default_policy",
			Seats: approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{"T0123456789/U1"}})},
		Decisions: []approvals.Decision{{ID: "dec_1", By: "T0123456789/U1", Verdict: approvals.Approve, At: at}}}
	data := appendRecord(nil, r)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			appendRecord(make([]byte, 0, 512), r)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := readRecord(data, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
