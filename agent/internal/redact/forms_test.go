package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"countersign/agent/internal/redact"
)

// asciiJSON is a JSON text in which every other character than those of ASCII is escaped, as many servers write it.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// plainJSON is a JSON text in which < and > stand for themselves.
func plainJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	text := strings.TrimSpace(b.String())
	return text[1 : len(text)-1]
}

// TestOutputInOtherForms takes a secret out as encoders of all kinds write it.
func TestOutputInOtherForms(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"tok-4711-xyz", `a<b>&"quoted"\x`, "pässwörd💥long", "ends with a quote\"", "??>>~~/+secret",
		"line one\nline two",
	} {
		var c redact.Credentials
		c.AddExpanded("${TOKEN}", secret)
		o := c.Output()
		escapedJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		twice, _ := json.Marshal(string(escapedJSON))
		forms := map[string]string{
			"as it is": secret, "JSON": string(escapedJSON[1 : len(escapedJSON)-1]), "plain JSON": plainJSON(secret),
			"JSON in JSON": string(twice[3 : len(twice)-3]),
			"ASCII JSON":   asciiJSON(secret), "a query": url.QueryEscape(secret), "a path": url.PathEscape(secret),
			"a query in lower case": lowerEscapes(url.QueryEscape(secret)),
			"a query with %20":      strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
			"base64":                base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64 without =":      base64.RawStdEncoding.EncodeToString([]byte(secret)),
			"base64 for URLs":       base64.URLEncoding.EncodeToString([]byte(secret)),
			"base64 for URLs, raw":  base64.RawURLEncoding.EncodeToString([]byte(secret)),
			"hexadecimal":           fmt.Sprintf("%x", secret),
			"HEXADECIMAL":           fmt.Sprintf("%X", secret),
		}
		for name, form := range forms {
			text := `{"echo":"<` + form + `>","plain":"word"}`
			got := o.Hide(text)
			if strings.Contains(got, form) || !strings.Contains(got, `,"plain":"word"}`) ||
				!strings.HasPrefix(got, `{"echo":"<`) {
				t.Errorf("%q as %s stays: %s", secret, name, got)
			}
		}
		// In base64 of something longer the secret may begin at any of three places.
		for before := range 3 {
			for after := range 3 {
				whole := strings.Repeat("u", before) + secret + strings.Repeat(":", after)
				for name, encoding := range map[string]*base64.Encoding{
					"base64": base64.StdEncoding, "base64 for URLs": base64.RawURLEncoding,
				} {
					got := o.Hide("Basic " + encoding.EncodeToString([]byte(whole)) + " said")
					if decoded := decodedRuns(got, secret); decoded {
						t.Errorf("%q stays in %s behind %d and before %d bytes: %s", secret, name, before, after, got)
					}
				}
			}
		}
	}
}

// decodedRuns reports whether one of the words decodes to something that holds most of the secret.
func decodedRuns(text, secret string) bool {
	most := secret[1 : len(secret)-1]
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimRight(word, "=")
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if raw, err := encoding.DecodeString(word); err == nil && bytes.Contains(raw, []byte(most)) {
				return true
			}
		}
	}
	return false
}

func lowerEscapes(s string) string {
	parts := strings.Split(s, "%")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToLower(parts[i][:2]) + parts[i][2:]
	}
	return strings.Join(parts, "%")
}
