package strictjson

import (
	"bytes"
	"cmp"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// compareUTF16 orders keys by their UTF-16 code units, as RFC 8785 demands. That is the order of code points, except
// that characters beyond U+FFFF sort as their leading surrogate and so before U+E000 and up.
func compareUTF16(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		ra, na := utf8.DecodeRune(a)
		rb, nb := utf8.DecodeRune(b)
		if ra != rb {
			if c := cmp.Compare(leadingUnit(ra), leadingUnit(rb)); c != 0 {
				return c
			}
			return cmp.Compare(ra, rb)
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingUnit(r rune) rune {
	if r < 0x10000 {
		return r
	}
	return 0xD800 + (r-0x10000)>>10
}

// fold maps keys that bytes.EqualFold calls equal to the same string.
func fold(key []byte) string {
	folded := make([]byte, 0, len(key))
	for len(key) > 0 {
		r, n := utf8.DecodeRune(key)
		folded = utf8.AppendRune(folded, foldRune(r))
		key = key[n:]
	}
	return string(folded)
}

// foldRune returns the smallest of the runes that are equal to r but for case.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// distinct refuses members whose keys are equal, or equal for encoding/json, which ignores case.
func distinct(own []member) *Error {
	if len(own) > 16 {
		return distinctMany(own)
	}
	for i := range own {
		for j := range i {
			if bytes.EqualFold(own[i].key, own[j].key) {
				return twice(own[j].key, own[i].key)
			}
		}
	}
	return nil
}

func distinctMany(own []member) *Error {
	seen := make(map[string][]byte, len(own))
	for _, m := range own {
		folded := fold(m.key)
		if other, ok := seen[folded]; ok {
			return twice(other, m.key)
		}
		seen[folded] = m.key
	}
	return nil
}

func twice(a, b []byte) *Error {
	if bytes.Equal(a, b) {
		return &Error{Offset: -1, Reason: "duplicate key " + strconv.Quote(Excerpt(string(a)))}
	}
	return &Error{Offset: -1, Reason: "keys " + strconv.Quote(Excerpt(string(a))) + " and " +
		strconv.Quote(Excerpt(string(b))) + " differ only in case"}
}
