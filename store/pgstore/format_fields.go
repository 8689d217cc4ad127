package pgstore

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// laterField is a field of a record that came with a format.
type laterField struct {
	format int
	kind   string   // of the record, as in kindRun
	path   []string // names in its JSON; those within a list are the same in each of its elements
}

// withoutLater leaves out of the JSON of a record what others cannot read yet.
func (s *Store) withoutLater(data []byte, kind string) ([]byte, error) {
	for _, f := range s.later {
		if f.kind != kind || f.format <= s.Format() {
			continue
		}
		var err error
		if data, _, err = without(data, f.path); err != nil {
			return nil, fmt.Errorf("leave %q out of a record: %w", f.path, err)
		}
	}
	return data, nil
}

// noticeLater learns from a record that a format is in force: the field would be lost if the record were written back
// without it.
func (s *Store) noticeLater(data []byte, kind string) {
	for _, f := range s.later {
		if f.kind != kind || f.format <= s.Format() {
			continue
		}
		if _, found, err := without(data, f.path); err == nil && found {
			s.raise(f.format)
		}
	}
}

// without returns the JSON without what the path names, and whether that was there.
func without(data []byte, path []string) (rest []byte, found bool, err error) {
	switch data = bytes.TrimSpace(data); {
	case len(data) > 0 && data[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, false, err
		}
		for i := range list {
			left, in, err := without(list[i], path)
			if err != nil {
				return nil, false, err
			}
			list[i], found = left, found || in
		}
		return encodedIf(found, list, data)
	case len(data) == 0 || data[0] != '{':
		return data, false, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, false, err
	}
	inner, there := object[path[0]]
	switch {
	case !there:
		return data, false, nil
	case len(path) == 1:
		delete(object, path[0])
		found = true
	default:
		left, in, err := without(inner, path[1:])
		if err != nil {
			return nil, false, err
		}
		object[path[0]], found = left, in
	}
	return encodedIf(found, object, data)
}

// encodedIf returns the JSON of a value that was changed, or the text of one that was not.
func encodedIf(changed bool, value any, data []byte) ([]byte, bool, error) {
	if !changed {
		return data, false, nil
	}
	data, err := encode(value)
	return data, true, err
}
