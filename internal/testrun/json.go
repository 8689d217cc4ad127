package testrun

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

// sameJSON reports whether two texts are the same value, whatever the order of keys and the form of numbers.
func sameJSON(a, b []byte) bool {
	var x, y any
	return decodeOne(a, &x) && decodeOne(b, &y) && sameValue(x, y)
}

func decodeOne(data []byte, v any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(v) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameValue)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	}
	return a == b
}

// exactDigits is how long a number may be so that two that differ never become the same float64.
const exactDigits = 15

// sameNumber compares 250 and 250.0 as the same. Long numbers are the same only when they are written alike.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && len(a) <= exactDigits && len(b) <= exactDigits && x == y
}

// hasMembers reports whether the second text is an object with all members of the first.
func hasMembers(want, got []byte) bool {
	var x, y map[string]any
	if !decodeOne(want, &x) || !decodeOne(got, &y) {
		return false
	}
	for name, value := range x {
		if have, ok := y[name]; !ok || !sameValue(value, have) {
			return false
		}
	}
	return true
}
