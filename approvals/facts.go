package approvals

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"countersign/agent"
)

// marshalFacts returns what json.Marshal returns: the form that is hashed. It is written out for the few kinds of facts
// there are, because it is a part of every change.
func marshalFacts(facts map[string]any) ([]byte, error) {
	names := make([]string, 0, 8)
	for name := range facts {
		names = append(names, name)
	}
	slices.Sort(names)
	b := make([]byte, 1, 256)
	b[0] = '{'
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		var err error
		if b, err = appendFact(b, facts[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendFact(b []byte, fact any) ([]byte, error) {
	if d, ok := fact.(agent.Digest); ok {
		return append(b, `"`+d.String()+`"`...), nil
	}
	_, own := fact.(json.Marshaler)
	_, ownText := fact.(encoding.TextMarshaler)
	switch v := reflect.ValueOf(fact); {
	case own, ownText:
	case v.Kind() == reflect.String:
		return appendText(b, v.String()), nil
	case v.Kind() == reflect.Int:
		return strconv.AppendInt(b, v.Int(), 10), nil
	}
	data, err := json.Marshal(fact)
	return append(b, data...), err
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, quote(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
