package strictjson

import (
	"bytes"
	"strconv"
	"strings"
)

// Object writes an object at the end of a buffer, member by member, in the order of the calls. It does not look for
// names that were written before. Make one with NewObject, or Reopen to add members to an object.
type Object struct {
	buf   []byte
	empty bool
}

// NewObject begins an object after what buf holds. It owns buf until End.
func NewObject(buf []byte) Object { return Object{buf: append(buf, '{'), empty: true} }

// Reopen takes away the closing bracket of the object that buf ends with, so that members can follow. It owns buf until
// End.
func Reopen(buf []byte) Object {
	buf = bytes.TrimRight(buf, " \t\r\n")
	buf = bytes.TrimRight(buf[:len(buf)-1], " \t\r\n")
	return Object{buf: buf, empty: buf[len(buf)-1] == '{'}
}

// End closes the object and returns the buffer.
func (o *Object) End() []byte { return append(o.buf, '}') }

// Text adds a member whose value is a text. What is not valid UTF-8 in it is written as U+FFFD.
func (o *Object) Text(name, value string) {
	o.name(name)
	o.buf = AppendQuoted(o.buf, strings.ToValidUTF8(value, "\uFFFD"))
}

// OptionalText is Text for a text that is not empty.
func (o *Object) OptionalText(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Int adds a member whose value is a whole number.
func (o *Object) Int(name string, value int) {
	o.name(name)
	o.buf = strconv.AppendInt(o.buf, int64(value), 10)
}

// Raw adds a member whose value is JSON.
func (o *Object) Raw(name string, value []byte) {
	o.name(name)
	o.buf = append(o.buf, value...)
}

// Append adds a member whose value the function appends.
func (o *Object) Append(name string, value func([]byte) []byte) {
	o.name(name)
	o.buf = value(o.buf)
}

// Members adds the members of an object, names and values as they are written there.
func (o *Object) Members(object []byte) error {
	return members(object, func(token []byte, _ string, value []byte) error {
		o.member(token, value)
		return nil
	})
}

// name adds the name of a member, which must be valid UTF-8, and the colon.
func (o *Object) name(name string) {
	o.comma()
	o.buf = append(AppendQuoted(o.buf, name), ':')
}

// member adds a member whose name is written as token.
func (o *Object) member(token, value []byte) {
	o.comma()
	o.buf = append(append(append(o.buf, token...), ':'), value...)
}

func (o *Object) comma() {
	if !o.empty {
		o.buf = append(o.buf, ',')
	}
	o.empty = false
}
