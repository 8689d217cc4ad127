package strictjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnquoted appends the text of a string token read by Reader.String. ok is false when the token holds half of a
// surrogate pair; such a half is written as three bytes that are not valid UTF-8, so that it cannot be mistaken for
// any real text.
func AppendUnquoted(dst, tok []byte) (text []byte, ok bool) {
	ok = true
	for body := tok[1 : len(tok)-1]; ; {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return append(dst, body...), ok
		}
		dst = append(dst, body[:i]...)
		body = body[i:]
		if body[1] != 'u' {
			dst = append(dst, unescaped(body[1]))
			body = body[2:]
			continue
		}
		r, n := unescapedRune(body)
		body = body[n:]
		if utf16.IsSurrogate(r) {
			ok = false
			dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			continue
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// unescapedRune returns the character of the \u escape, or pair of them, that b starts with, and its length. Half of a
// pair is returned as it is.
func unescapedRune(b []byte) (r rune, n int) {
	r = hex4(b[2:])
	if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// AppendQuoted appends text as a JSON string with the escapes RFC 8785 demands and no others. The text must be valid
// UTF-8.
func AppendQuoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(text) {
		if plain[text[i]] {
			continue
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscape(dst, text[i])
		start = i + 1
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}

// Unquote returns the text of a string token read by Reader.String.
func Unquote(tok []byte, escaped bool) string {
	if !escaped {
		return string(tok[1 : len(tok)-1])
	}
	text, _ := AppendUnquoted(make([]byte, 0, len(tok)), tok)
	return string(text)
}
