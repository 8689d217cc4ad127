package httptool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"countersign/agent/internal/oneline"
)

// text is what the model reads of an answer, and whether the answer came as far as it is read at all.
func (t *tool) text(ctx context.Context, res *http.Response, note string) (text string, complete bool) {
	data, whole, err := read(res.Body, t.MaxBytes)
	status := statusLine(res)
	var parts []string
	if res.StatusCode >= 300 {
		parts = append(parts, status)
	}
	if note != "" {
		parts = append(parts, note)
	}
	if body := t.describe(res, data, whole); body != "" {
		parts = append(parts, body)
	}
	switch {
	case err != nil && context.Cause(ctx) == errTimeout:
		parts = append(parts, fmt.Sprintf("[%s; the rest of the body did not come within %s]", status, t.Timeout))
	case err != nil:
		parts = append(parts, fmt.Sprintf("[%s; the connection broke before the end of the body]", status))
	}
	if len(parts) == 0 {
		return t.hidden.Hide(status), true
	}
	return t.hidden.Hide(strings.Join(parts, "\n")), err == nil
}

func statusLine(res *http.Response) string {
	text := http.StatusText(res.StatusCode)
	if text == "" { // not a registered status: what the server calls it
		_, text, _ = strings.Cut(res.Status, " ")
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.StatusCode, oneline.Of(text, 100)))
}

// read returns at most limit bytes, and whether these are all.
func read(body io.Reader, limit int) (data []byte, whole bool, err error) {
	data, err = io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if len(data) > limit {
		return data[:limit], false, nil
	}
	return data, err == nil, err
}

// describe makes a body fit to be read: text as valid UTF-8 with a word on what was left out, anything else by its
// kind.
func (t *tool) describe(res *http.Response, data []byte, whole bool) string {
	if len(data) == 0 {
		return ""
	}
	kind, parameters, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	if isBinary(kind, data) {
		if kind == "" {
			kind = "unknown type"
		}
		return fmt.Sprintf("[a body that is not text: %s, %s]", oneline.Of(kind, 100), size(res, data, whole))
	}
	shown := data
	if !whole {
		shown = trimRune(data)
	}
	text := strings.ToValidUTF8(string(shown), "\uFFFD")
	if charset := strings.ToLower(parameters["charset"]); charset == "iso-8859-1" || charset == "latin1" {
		text = latin1(shown)
	}
	if whole {
		return text
	}
	return fmt.Sprintf(
		"%s\n[truncated: %d bytes shown of %s]", t.hidden.HideCut(text), len(shown), size(res, data, whole))
}

// size says how long a body is, as far as it is known.
func size(res *http.Response, data []byte, whole bool) string {
	switch {
	case whole:
		return fmt.Sprintf("%d bytes", len(data))
	case res.ContentLength > 0 && !res.Uncompressed:
		return fmt.Sprintf("%d bytes", res.ContentLength)
	default:
		return fmt.Sprintf("more than %d bytes", len(data))
	}
}

// isBinary judges by the declared type where it is clear, else by the bytes.
func isBinary(kind string, data []byte) bool {
	family, _, _ := strings.Cut(kind, "/")
	switch {
	case family == "image" && kind != "image/svg+xml", family == "audio", family == "video", family == "font":
		return true
	case bytes.IndexByte(data, 0) >= 0:
		return true
	}
	broken, runes := 0, 0
	for i := 0; i < len(data); runes++ {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b {
			broken++
		}
		i += n
	}
	return broken*10 > runes && family != "text"
}

// trimRune drops the beginning of a character that the limit cut through.
func trimRune(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if b := data[len(data)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-n:]) {
				return data[:len(data)-n]
			}
			break
		}
	}
	return data
}

// latin1 converts ISO 8859-1, in which each byte is the character of its number.
func latin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}
