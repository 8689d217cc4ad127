package mcptoolset

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const maxNameLen = 64

// validName reports whether models' APIs take the name of a tool.
func validName(name string) bool {
	return name != "" && len(name) <= maxNameLen && !strings.ContainsFunc(name, notNameRune)
}

func notNameRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// modelName is the name under which a model calls a tool: every character that models' APIs do not take becomes an
// underscore, and of a name that is too long the end becomes a part of the digest of all of it. It is the same for the
// same prefix and name everywhere.
func modelName(prefix, name string) string {
	mapped := strings.Map(func(r rune) rune {
		if notNameRune(r) {
			return '_'
		}
		return r
	}, prefix+name)
	if len(mapped) <= maxNameLen {
		return mapped
	}
	sum := sha256.Sum256([]byte(prefix + name))
	return mapped[:maxNameLen-9] + "_" + hex.EncodeToString(sum[:4])
}
