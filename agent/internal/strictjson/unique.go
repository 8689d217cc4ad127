package strictjson

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Unique reports JSON with an object that has a member twice, of which two readers could take different ones, or a name
// that is not valid Unicode; and whatever is not one value, nested no deeper than maxDepth. Unlike Canonical it lets
// names differ in case alone, and numbers and texts be anything. Errors are an *Error.
func Unique(data []byte, maxDepth int) error {
	u := unique{NewReader(data, maxDepth)}
	if err := u.value(); err != nil {
		return err
	}
	if err := u.End(); err != nil {
		return err
	}
	return nil
}

type unique struct{ *Reader }

func (u unique) value() error {
	switch u.Peek() {
	case '{':
		return u.members()
	case '[':
		i := -1
		return u.Array(func() error {
			i++
			return under(u.value(), strconv.Itoa(i))
		})
	}
	_, err := u.Skip()
	return err
}

func (u unique) members() error {
	seen := make(map[string]bool)
	return u.Object(func(key []byte) error {
		name := string(key)
		switch {
		case !utf8.Valid(key):
			return u.Fail("the name of a member is not valid Unicode")
		case seen[name]:
			return u.Fail("the member " + strconv.Quote(Excerpt(name)) + " is there twice in one object")
		}
		seen[name] = true
		return under(u.value(), name)
	})
}

// under puts a key or index in front of the error's pointer.
func under(err error, segment string) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Under(segment)
	}
	return err
}
