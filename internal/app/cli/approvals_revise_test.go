package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// TestInputOf reads values by the types of their fields.
func TestInputOf(t *testing.T) {
	t.Parallel()
	fields := []approvals.InputField{
		{Name: "date", Type: "string"}, {Name: "guests", Type: "integer"}, {Name: "inside", Type: "boolean"},
		{Name: "tags", Type: "array"}, {Name: "any"},
	}
	for _, tt := range []struct {
		pairs      []string
		want, fail string
	}{
		{pairs: []string{"date=2026-12-01"}, want: `{"date":"2026-12-01"}`},
		{pairs: []string{`date="10:00"`}, want: `{"date":"10:00"}`},
		{pairs: []string{"date=12"}, want: `{"date":"12"}`},
		{pairs: []string{"date=true"}, want: `{"date":"true"}`},
		{pairs: []string{"date="}, want: `{"date":""}`},
		{pairs: []string{"date=a=b"}, want: `{"date":"a=b"}`},
		{pairs: []string{`date={"a":1}`}, want: `{"date":"{\"a\":1}"}`},
		{pairs: []string{"guests=0", "inside=false"}, want: `{"guests":0,"inside":false}`},
		{pairs: []string{"tags=[1]", "any=x"}, want: `{"tags":[1],"any":"x"}`},
		{pairs: []string{"any=12"}, want: `{"any":12}`},
		{pairs: []string{"guests=four"}, fail: "--input guests: a value of type integer is written as JSON"},
		{pairs: []string{"guests"}, fail: "write NAME=VALUE"},
		{
			pairs: []string{"when=1"},
			fail:  `there is no field "when"; the request asks for date, guests, inside, tags, any`,
		},
		{pairs: []string{"date=1", "date=2"}, fail: "date is given twice"},
	} {
		got, err := inputOf(fields, tt.pairs)
		if (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%v: %v, want %q", tt.pairs, err, tt.fail)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%v:\n%s", tt.pairs, diff)
		}
	}
	if _, err := inputOf(nil, []string{"a=1"}); err == nil || !strings.Contains(err.Error(), "asks for no values") {
		t.Errorf("a question without fields: %v", err)
	}
}

// TestJSONOrFile reads a flag's value or the file that it names.
func TestJSONOrFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte("{\"a\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"b":2}`: `{"b":2}`, "@" + path: "{\"a\": 1}\n", "{": "", "@absent": "",
	} {
		got, err := jsonOrFile("--edit", value)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
}

// TestReviseVerdicts takes one answer, and one way to give it.
func TestReviseVerdicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c    decideCommand
		want approvals.Verdict
		fail string
	}{
		{c: decideCommand{As: "U1", Edit: "{}"}, want: approvals.Edit},
		{c: decideCommand{As: "U1", Input: []string{"a=1"}}, want: approvals.ProvideInput},
		{c: decideCommand{As: "U1", InputJSON: "{}"}, want: approvals.ProvideInput},
		{c: decideCommand{Edit: "{}"}, fail: "in whose name?"},
		{c: decideCommand{As: "U1", Edit: "{}", InputJSON: "{}"}, fail: "--edit and --input: a request has one answer"},
		{c: decideCommand{As: "U1", Input: []string{"a=1"}, InputJSON: "{}"}, fail: "in one of these ways"},
		{c: decideCommand{As: "U1", Edit: "{}", Always: true}, fail: "--always goes with --approve or --reject"},
	} {
		got, err := tt.c.verdict()
		if got != tt.want || (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%+v: %q, %v", tt.c, got, err)
		}
	}
}
