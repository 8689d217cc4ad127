package policycheck

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"

	"countersign/approvals"
)

// scalar is a text, number, or true or false among the arguments of a call.
type scalar struct {
	text   string  // as an expression writes it
	number float64 // of a number
	isNum  bool
}

// maxScalar bounds the values that a suggestion can name.
const maxScalar = 200

// scalars returns the arguments that an expression can be about. Others, and those that are too long or
// cannot stand in the agents file, are present as the zero scalar.
func scalars(arguments json.RawMessage) map[string]scalar {
	var all map[string]json.RawMessage
	if json.Unmarshal(arguments, &all) != nil {
		return nil
	}
	values := make(map[string]scalar, len(all))
	for name, raw := range all {
		values[name] = scalarOf(bytes.TrimSpace(raw))
	}
	return values
}

// plainScalars are the scalars of a request's call, with secret ones as those that no expression can name: suggestions
// are printed.
func plainScalars(r *approvals.Request) map[string]scalar {
	values := scalars(r.Arguments)
	for _, name := range r.Secret {
		if _, ok := values[name]; ok {
			values[name] = scalar{}
		}
	}
	return values
}

func scalarOf(raw []byte) scalar {
	var v any
	if len(raw) > maxScalar || bytes.Contains(raw, []byte("${")) || json.Unmarshal(raw, &v) != nil {
		return scalar{}
	}
	switch v := v.(type) {
	case string:
		return scalar{text: quoted(v)}
	case bool:
		return scalar{text: strconv.FormatBool(v)}
	case float64:
		return scalar{text: number(v), number: v, isNum: true}
	}
	return scalar{}
}

// number writes a number as an expression does. What is no 64-bit integer has a fraction there.
func number(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if math.Abs(f) >= 1<<63 {
		text += ".0"
	}
	return text
}

// quoted writes a text as an expression does: the escapes of JSON mean the same there.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are words that an expression cannot have behind a dot.
var reserved = []string{"in", "true", "false", "null"}

// nameable reports whether an expression can say args.NAME.
func nameable(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(reserved, name)
}
