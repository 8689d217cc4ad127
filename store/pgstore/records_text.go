package pgstore

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/approvals"
)

// PostgreSQL's text holds no zero byte, and ids may: 0x00 is written as 0x01 0x01 and 0x01 as 0x01 0x02, which keeps
// the order of the bytes. What is no UTF-8 becomes U+FFFD, as it does in the JSON of the record.
var (
	toText   = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	fromText = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

// text returns an id, or another string, as a column holds it.
func text[S ~string](s S) string {
	if plain(string(s)) {
		return string(s)
	}
	if strings.ContainsAny(string(s), "\x00\x01") {
		s = S(toText.Replace(string(s)))
	}
	return strings.ToValidUTF8(string(s), "\uFFFD")
}

// plain reports whether a column holds a string as it is, as it does nearly all ids.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= 1 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// untext is the inverse of text.
func untext(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	return fromText.Replace(s)
}

// placeArgs are the arguments $1 to $4 of statements about a place.
func placeArgs(ws approvals.WorkspaceID, p approvals.Place, more ...any) []any {
	return append([]any{text(ws), text(p.Surface), text(p.Channel), text(p.Thread)}, more...)
}

// identified refuses records that lack a part of their key.
func identified(what string, parts ...string) error {
	for _, p := range parts {
		if p == "" {
			return fmt.Errorf("put %s: incomplete key %q: %w", what, parts, approvals.ErrInvalid)
		}
	}
	return nil
}

var inTextArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray writes an array of texts as PostgreSQL reads it.
func textArray(list []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		inTextArray.WriteString(&b, s)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
