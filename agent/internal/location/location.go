// Package location says what decisions are bound to of a value that an operator wrote with variables in it: the text as
// it is written, which is stored and shown, and as much of the value as may be shown.
package location

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
)

// URL is a URL as it was written; where that does not spell out scheme and host, they follow, for ${PAYMENTS_URL} may
// stand for another host tomorrow. Path and query may hold secrets and are left out. An empty text stands for the URL
// itself.
func URL(text, value string) string {
	u, err := url.Parse(value)
	if err != nil || text == "" || text == value {
		return cmp.Or(text, value)
	}
	origin := u.Scheme + "://" + u.Host
	if rest, ok := strings.CutPrefix(text, origin); ok && (rest == "" || strings.ContainsAny(rest[:1], "/?")) {
		return text
	}
	return text + " (" + origin + ")"
}

// Directory is a directory as it was written; where variables stand in it, a part of the digest of its path follows.
func Directory(text, value string) string {
	if text == "" || text == value {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return fmt.Sprintf("%s (path sha256:%x…)", text, sum[:8])
}
