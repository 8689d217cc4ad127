// Package redact takes secrets out of texts that others wrote: servers repeat what they were sent.
package redact

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Hidden is what stands for a secret.
const Hidden = "…"

// minSecret is how long a text must be to be taken for a secret: shorter ones are in every sentence.
const minSecret = 4

// Secrets are texts that must not be shown, each with what stands for it.
type Secrets map[string]string

// Add hides a text wherever it stands, unless it is too short to be a secret.
func (s Secrets) Add(text string) {
	if len(text) >= minSecret {
		s[text] = Hidden
	}
}

// AddHeader hides the value of a header, and the words in it: of "Bearer x", a server may repeat x alone.
func (s Secrets) AddHeader(value string) {
	s.Add(value)
	for word := range strings.FieldsSeq(value) {
		if word != "Bearer" && word != "Basic" {
			s.Add(word)
		}
	}
}

var variable = regexp.MustCompile(`\$\{\w+\}`)

// AddExpanded hides what stands in a text for the variables in it as it was written, ${NAME}.
func (s Secrets) AddExpanded(written, text string) {
	plain := variable.Split(written, -1)
	rest, ok := strings.CutPrefix(text, plain[0])
	for i := 1; i < len(plain) && ok; i++ {
		var value string
		if i == len(plain)-1 {
			value, ok = strings.CutSuffix(rest, plain[i])
		} else {
			value, rest, ok = strings.Cut(rest, plain[i])
		}
		if ok {
			s.Add(value)
		}
	}
}

// Replacer puts into texts what stands for the secrets. Of those that begin at one place the longest counts, so that
// nothing stays of a secret that begins with another one.
func (s Secrets) Replacer() *strings.Replacer {
	texts := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		pairs = append(pairs, text, s[text])
	}
	return strings.NewReplacer(pairs...)
}
