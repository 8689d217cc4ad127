package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
)

// formsOf returns a text as servers may repeat it: as it is, in JSON, in JSON within JSON, in URLs, in base64, by
// itself or as a part of something longer, and in hexadecimal.
func formsOf(text string) []string {
	forms := []string{text, strings.ReplaceAll(text, "/", `\/`)}
	for _, quoted := range quotedForms(text) {
		forms = append(forms, quoted)
		forms = append(forms, quotedForms(quoted)...)
	}
	for _, escaped := range []string{url.QueryEscape(text), url.PathEscape(text)} {
		forms = append(forms, escaped, lowerEscapes(escaped))
	}
	spaces := strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	forms = append(forms, spaces, lowerEscapes(spaces))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		raw := encoding.WithPadding(base64.NoPadding)
		forms = append(forms, encoding.EncodeToString([]byte(text)), raw.EncodeToString([]byte(text)))
		for before := range 3 {
			if within := withinBase64(raw, text, before); len(within) >= minHidden {
				forms = append(forms, within)
			}
		}
	}
	hexed := hex.EncodeToString([]byte(text))
	return append(forms, hexed, strings.ToUpper(hexed))
}

// quotedForms are the text in JSON as encoders write it, without quotes: with < and > escaped or not, and with
// everything escaped that is not ASCII.
func quotedForms(text string) []string {
	escaped, err := json.Marshal(text)
	if err != nil { // it always can be
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return nil
	}
	plain := bytes.TrimSpace(b.Bytes())
	forms := []string{string(escaped[1 : len(escaped)-1]), string(plain[1 : len(plain)-1])}
	return append(forms, ascii(forms[1], `\u%04x`), ascii(forms[1], `\u%04X`))
}

// ascii escapes what is not ASCII in a JSON text.
func ascii(quoted, format string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, format+format, high, low)
		default:
			fmt.Fprintf(&b, format, r)
		}
	}
	return b.String()
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(escaped string) string {
	return percent.ReplaceAllStringFunc(escaped, strings.ToLower)
}

// withinBase64 is what base64 of something longer holds of a text that stands behind so many bytes, modulo three:
// without the characters into which what stands around it goes too.
func withinBase64(raw *base64.Encoding, text string, before int) string {
	encoded := raw.EncodeToString(append(make([]byte, before), text...))
	if (before+len(text))%3 != 0 {
		encoded = encoded[:len(encoded)-1]
	}
	first := (before*8 + 5) / 6
	return encoded[min(first, len(encoded)):]
}
