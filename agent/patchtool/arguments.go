package patchtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const parameters = `{"type":"object","properties":{"patch":{"type":"string","minLength":1,` +
	`"description":"The patch, from *** Begin Patch to *** End Patch."}},` +
	`"required":["patch"],"additionalProperties":false}`

// nativeParameters is the schema of the provider's own form.
const nativeParameters = `{"type":"object","properties":{` +
	`"type":{"type":"string","enum":["create_file","update_file","delete_file"]},` +
	`"path":{"type":"string","minLength":1},"diff":{"type":["string","null"]}` +
	`},"required":["type","path"],"additionalProperties":false}`

// arguments is the union of both forms.
type arguments struct {
	Patch *string `json:"patch"`
	Type  *string `json:"type"`
	Path  *string `json:"path"`
	Diff  *string `json:"diff"`
}

// read reads the arguments of a call in either form. Its error's text is made for the model.
func read(raw json.RawMessage) (sections []section, size int, native bool, err error) {
	var a arguments
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return nil, 0, false, unreadable(err)
	}
	switch {
	case a.Patch != nil && (a.Type != nil || a.Path != nil || a.Diff != nil):
		return nil, 0, false, errors.New("give either patch, or type, path and diff")
	case a.Patch != nil:
		sections, err = parse(*a.Patch)
		return sections, len(*a.Patch), false, err
	case a.Type == nil && a.Path == nil:
		return nil, 0, false, errors.New("patch is missing")
	case a.Type == nil || a.Path == nil:
		return nil, 0, true, errors.New("type and path are both needed")
	}
	var diff string
	if a.Diff != nil {
		diff = *a.Diff
	}
	s, err := operation(*a.Type, *a.Path, diff)
	return []section{s}, len(diff), true, err
}

// operation reads an operation in the provider's form.
func operation(kind, name, diff string) (section, error) {
	s := section{path: name, line: 1}
	if err := checkPath(name); err != nil {
		return s, err
	}
	switch kind {
	case "create_file":
		s.op = Add
	case "update_file":
		s.op = Update
	case "delete_file":
		s.op = Delete
		if strings.TrimSpace(diff) != "" {
			return s, errors.New("a file is deleted without a diff")
		}
		return s, nil
	default:
		return s, fmt.Errorf("type must be create_file, update_file or delete_file, not %s", quote(kind))
	}
	return s, parseDiff(&s, diff)
}

// unreadable words a decoder's error.
func unreadable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s must not be %s", e.Field, e.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no member %s", name)
	}
	return errors.New("the arguments are not a JSON object of this tool")
}
