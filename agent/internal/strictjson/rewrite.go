package strictjson

import "slices"

// maxRewriteDepth bounds the nesting of what is rewritten. It is generous: values are copied, not interpreted.
const maxRewriteDepth = 512

// Members calls member for each member of an object, in order. name is without escapes; value is as it is written and
// shares memory with object. An error of member's ends it and is returned as it is; others are an *Error.
func Members(object []byte, member func(name string, value []byte) error) error {
	return members(object, func(_ []byte, name string, value []byte) error { return member(name, value) })
}

func members(object []byte, member func(token []byte, name string, value []byte) error) error {
	r := NewReader(object, maxRewriteDepth)
	err := r.object(func(token, key []byte) error {
		value, err := r.Skip()
		if err != nil {
			return err
		}
		return member(token, string(key), value)
	})
	if err != nil {
		return err
	}
	if err := r.End(); err != nil {
		return err
	}
	return nil
}

// Rewrite returns the object with the values that edit returns; a member for which that is nil is left out. Names and
// order stay, so an object in canonical form stays in it when the new values are. Errors are as for Members.
func Rewrite(object []byte, edit func(name string, value []byte) ([]byte, error)) ([]byte, error) {
	o := NewObject(make([]byte, 0, len(object)))
	err := members(object, func(token []byte, name string, value []byte) error {
		value, err := edit(name, value)
		if err == nil && value != nil {
			o.member(token, value)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return o.End(), nil
}

// Without returns the object without the named members.
func Without(object []byte, names ...string) ([]byte, error) {
	return Rewrite(object, func(name string, value []byte) ([]byte, error) {
		if slices.Contains(names, name) {
			return nil, nil
		}
		return value, nil
	})
}

// Set returns the object with the value for the named member, where it is, or at the end when it is new.
func Set(object []byte, name string, value []byte) ([]byte, error) {
	found := false
	out, err := Rewrite(object, func(n string, old []byte) ([]byte, error) {
		if n != name {
			return old, nil
		}
		found = true
		return value, nil
	})
	if err != nil || found {
		return out, err
	}
	o := Reopen(out)
	o.Raw(name, value)
	return o.End(), nil
}
