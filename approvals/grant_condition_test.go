package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// TestConditionTable compares arguments with a recorded call.
func TestConditionTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		same, atMost string
		without      string
		recorded     string
		holds, fails []string
	}{
		{same: "to", recorded: `{"to":"a"}`, holds: []string{`{"to":"a"}`, `{"to":"a","x":1}`},
			fails: []string{`{"to":"A"}`, `{"to":["a"]}`, `{}`, `{"to":null}`, `{"To":"a"}`, `[]`, `"a"`, ``}},
		{without: "to", recorded: `{}`, holds: []string{`{}`, `{"x":1}`}, fails: []string{`{"to":null}`, `{"to":""}`}},
		{same: "to", recorded: `{"to":null}`, holds: []string{`{"to":null}`},
			fails: []string{`{}`, `{"to":""}`, `{"to":0}`}},
		{same: "n", recorded: `{"n":1}`, holds: []string{`{"n":1}`},
			fails: []string{`{"n":"1"}`, `{"n":true}`, `{"n":1.5}`}},
		{same: "/a/0/b", recorded: `{"a":[{"b":2}]}`, holds: []string{`{"a":[{"b":2,"c":3},4]}`},
			fails: []string{`{"a":[{"b":3}]}`, `{"a":{"0":{"c":2}}}`, `{"a":[]}`, `{"a":7}`}},
		{same: "a/b~c", recorded: `{"a/b~c":1}`, holds: []string{`{"a/b~c":1}`}, fails: []string{`{"a":{"b~c":1}}`}},
		{same: "/a~1b~0c", recorded: `{"a/b~c":1}`, holds: []string{`{"a/b~c":1}`}, fails: []string{`{}`}},
		{without: "/a/00", recorded: `{"a":[1]}`, holds: []string{`{}`, `{"a":[2]}`},
			fails: []string{`{"a":{"00":1}}`}},
		{same: "/", recorded: `{"":1}`, holds: []string{`{"":1}`}, fails: []string{`{"":2}`}},
		{atMost: "n", recorded: `{"n":10}`, holds: []string{`{"n":10}`, `{"n":9.99}`, `{"n":-1e+300}`, `{"n":0}`},
			fails: []string{`{"n":10.000000000000002}`, `{"n":1e+21}`, `{"n":"1"}`, `{"n":null}`, `{}`, `{"n":[1]}`,
				`{"n":-1e+999999999}`}},
		{atMost: "n", recorded: `{"n":9007199254740993}`, holds: []string{`{"n":9007199254740993}`},
			fails: []string{`{"n":9007199254740994}`}},
	} {
		var terms GrantTerms
		switch {
		case tt.same != "":
			terms.Same = []string{tt.same}
		case tt.without != "":
			terms.Without = []string{tt.without}
		default:
			terms.AtMost = []string{tt.atMost}
		}
		condition, err := bounds(json.RawMessage(tt.recorded), &terms)
		if err != nil {
			t.Errorf("%s of %s: %v", tt.same+tt.atMost, tt.recorded, err)
			continue
		}
		for _, arguments := range tt.holds {
			if !holds(condition, json.RawMessage(arguments)) {
				t.Errorf("%s of %s does not hold for %s", tt.same+tt.atMost, tt.recorded, arguments)
			}
		}
		for _, arguments := range tt.fails {
			if holds(condition, json.RawMessage(arguments)) {
				t.Errorf("%s of %s holds for %s", tt.same+tt.atMost, tt.recorded, arguments)
			}
		}
	}
}

// TestConditionBinds checks, for random calls, that a condition holds exactly for those whose named arguments are what
// they were recorded to be: a value that is absent, null or of another type is another one.
func TestConditionBinds(t *testing.T) {
	t.Parallel()
	matched, differed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c/d", "e~f"}
		recorded, called := drawArguments(t, names), drawArguments(t, names)
		if rapid.Bool().Draw(t, "alike") { // so that not nearly all differ
			for _, n := range names { // in order: what is drawn must not depend on that of a map
				if v, there := recorded[n]; there && rapid.IntRange(0, 3).Draw(t, "keep "+n) > 0 {
					called[n] = v
				}
			}
		}
		same := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "same")
		var terms GrantTerms
		for _, n := range same {
			if _, there := recorded[n]; there {
				terms.Same = append(terms.Same, n)
			} else {
				terms.Without = append(terms.Without, n)
			}
		}
		condition, err := bounds(canonical(t, recorded), &terms)
		if err != nil {
			t.Fatal(err)
		}
		equal := true
		for _, n := range same {
			was, there := recorded[n]
			is, still := called[n]
			if there != still || there && !bytes.Equal(canonical(t, was), canonical(t, is)) {
				equal = false
			}
		}
		if got := holds(condition, canonical(t, called)); got != equal {
			t.Fatalf("%v holds: %t, for %v recorded from %v", condition, got, called, recorded)
		}
		if equal {
			matched++
		} else {
			differed++
		}
	})
	if matched == 0 || differed == 0 {
		t.Errorf("control: %d calls matched and %d did not", matched, differed)
	}
}

// TestConditionLimits checks at-most bounds against numbers drawn as fractions of a power of two, which floats compare
// exactly.
func TestConditionLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) float64 { return float64(rapid.Int64Range(-1<<50, 1<<50).Draw(t, name)) / 1024 }
		most, has := draw("most"), draw("has")
		condition, err := bounds(canonical(t, map[string]any{"n": most}), &GrantTerms{AtMost: []string{"n"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := holds(condition, canonical(t, map[string]any{"n": has})); got != (has <= most) {
			t.Fatalf("%v at most %v: %t", has, most, got)
		}
	})
}

func drawArguments(t *rapid.T, names []string) map[string]any {
	values := []any{nil, true, false, 0, 1, -1.5, 1e300, "", "0", "null", "a", []any{}, []any{1}, map[string]any{},
		map[string]any{"a": nil}}
	drawn := map[string]any{}
	for _, n := range names {
		if rapid.Bool().Draw(t, "has "+n) {
			drawn[n] = rapid.SampledFrom(values).Draw(t, n)
		}
	}
	return drawn
}

// canonical is RFC 8785, by another implementation than the one that writes requests.
func canonical(t *rapid.T, v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err == nil && strings.HasPrefix(string(b), "{") {
		b, err = jcs.Transform(b)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("canonical form: %w", err))
	}
	return b
}
