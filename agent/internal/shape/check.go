package shape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"countersign/agent/internal/strictjson"
)

// maxDepth bounds the nesting of a value.
const maxDepth = 512

// Check reports the first thing in a value that does not fit the shape, in words for the model.
func (s *Shape) Check(value []byte) error {
	r := strictjson.NewReader(value, maxDepth)
	if err := s.check(r); err != nil {
		return err
	}
	if err := r.End(); err != nil {
		return err
	}
	return nil
}

// check reads a value and reports the first thing that does not fit, in words for the model.
func (s *Shape) check(r *strictjson.Reader) error {
	switch s.kind {
	case shapeObject:
		if r.Peek() == '{' {
			return s.checkObject(r)
		}
	case shapeMap:
		if r.Peek() == '{' {
			return r.Object(func(key []byte) error { return under(string(key), s.element.check(r)) })
		}
	case shapeArray:
		if r.Peek() == '[' {
			return s.checkArray(r)
		}
	}
	value, err := r.Skip()
	if err != nil {
		return err
	}
	return s.checkScalar(value)
}

// under puts a key in front of the place that an error names.
func under(key string, err error) error {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return e.Under(key)
	}
	return err
}

func misfit(format string, args ...any) error {
	return &strictjson.Error{Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

func (s *Shape) checkObject(r *strictjson.Reader) error {
	seen := make([]bool, len(s.fields))
	err := r.Object(func(key []byte) error {
		i := slices.IndexFunc(s.fields, func(p property) bool { return p.name == string(key) })
		if i < 0 {
			return misfit("unknown property %q; %s", strictjson.Excerpt(string(key)), s.known())
		}
		seen[i] = true
		return under(string(key), s.fields[i].check(r))
	})
	if err != nil {
		return err
	}
	for i, p := range s.fields {
		if !seen[i] && !p.nullable {
			return misfit("missing property %q", p.name)
		}
	}
	return nil
}

func (s *Shape) known() string {
	if len(s.fields) == 0 {
		return "there are none"
	}
	names := make([]string, len(s.fields))
	for i, p := range s.fields {
		names[i] = p.name
	}
	return "known are " + strings.Join(names, ", ")
}

func (s *Shape) checkArray(r *strictjson.Reader) error {
	n := 0
	err := r.Array(func() error {
		err := under(strconv.Itoa(n), s.element.check(r))
		n++
		return err
	})
	if err == nil && s.length >= 0 && n != s.length {
		return misfit("must have %d elements, not %d", s.length, n)
	}
	return err
}

// checkScalar checks everything that is not an object or array where one is wanted.
func (s *Shape) checkScalar(value []byte) error {
	got := typeName(value)
	switch {
	case s.kind == shapeAny, s.nullable && got == "null":
		return nil
	case s.kind == shapeBoolean && got == "boolean":
		return nil
	case s.kind == shapeString && got == "string":
		return s.checkText(strictjson.Unquote(value, bytes.IndexByte(value, '\\') >= 0))
	case (s.kind == shapeInteger || s.kind == shapeNumber) && got == "number":
		return s.checkNumber(string(value))
	}
	want := string(s.kind)
	if s.kind == shapeMap {
		want = string(shapeObject)
	}
	return misfit("must be of type %s, not %s", want, got)
}

func typeName(value []byte) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (s *Shape) checkText(text string) error {
	switch {
	case len(s.enum) > 0 && !slices.Contains(s.enum, text):
		return misfit("must be one of %q", s.enum)
	case s.text != nil && s.text(text) != nil && s.format != "":
		return misfit("must be a %s", s.format)
	case s.text != nil && s.text(text) != nil:
		return misfit("is not in the form that is expected here")
	}
	return nil
}

func (s *Shape) checkNumber(text string) error {
	bits, kind := s.number.Bits(), s.number.Kind().String()
	var err error
	switch kind[0] {
	case 'f':
		_, err = strconv.ParseFloat(text, bits)
	case 'u':
		_, err = strconv.ParseUint(text, 10, bits)
	default:
		_, err = strconv.ParseInt(text, 10, bits)
	}
	switch {
	case err == nil:
		return nil
	case s.kind == shapeNumber:
		return misfit("number is too large")
	case kind[0] == 'u':
		return misfit("must be an integer from 0 to %d", ^uint64(0)>>(64-bits))
	}
	return misfit("must be an integer of at most %d bits", bits)
}
