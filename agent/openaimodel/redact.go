package openaimodel

import (
	"regexp"
	"strings"
	"unicode"

	"countersign/agent"
)

// redactor makes texts of the provider fit for people and logs: servers repeat what they were sent, keys and all.
type redactor struct {
	key string
	req *agent.ModelRequest
}

func newRedactor(key string, req *agent.ModelRequest) *redactor { return &redactor{key, req} }

const (
	// maxMessage is how much of a provider's message is kept.
	maxMessage = 300
	// window is the shortest piece of the conversation that is recognised anywhere in a message. Shorter ones are
	// common phrases; in quotes, where servers put the values they object to, nothing is too short.
	window = 16
	hidden = "…"
)

var quotedPattern = regexp.MustCompile("'[^']+'|\"[^\"]+\"|`[^`]+`")

var secretPattern = regexp.MustCompile(`(?i)\b(?:sk|sess|org|proj|key)-[a-z0-9_*.\-]{4,}|\bbearer\s+\S+|\beyJ[A-Za-z0-9_\-.]{16,}`)

// text returns the message on one line, cut to a readable length, without keys, and without anything that stands in
// the conversation.
func (r *redactor) text(message string) string {
	message = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return ' '
		}
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(message, "\uFFFD"))
	message = strings.Join(strings.Fields(message), " ")
	if r.key != "" {
		message = strings.ReplaceAll(message, r.key, hidden)
	}
	message = secretPattern.ReplaceAllString(message, hidden)
	if runes := []rune(message); len(runes) > maxMessage {
		message = string(runes[:maxMessage]) + hidden
	}
	message = quotedPattern.ReplaceAllStringFunc(message, func(quoted string) string {
		if r.said(quoted[1 : len(quoted)-1]) {
			return hidden
		}
		return quoted
	})
	return strings.TrimRight(r.hideConversation(message), ". ")
}

// hideConversation replaces every run of characters that the message shares with the conversation.
func (r *redactor) hideConversation(message string) string {
	runes := []rune(message)
	hide := make([]bool, len(runes))
	for i := 0; i+window <= len(runes); i++ {
		if r.said(string(runes[i : i+window])) {
			for j := range window {
				hide[i+j] = true
			}
		}
	}
	var b strings.Builder
	for i, c := range runes {
		switch {
		case !hide[i]:
			b.WriteRune(c)
		case i == 0 || !hide[i-1]:
			b.WriteString(hidden)
		}
	}
	return b.String()
}

// said reports whether a piece of text stands in the conversation.
func (r *redactor) said(piece string) bool {
	if r.req == nil {
		return false
	}
	if strings.Contains(r.req.Instructions, piece) {
		return true
	}
	for i := range r.req.Items {
		it := &r.req.Items[i]
		if strings.Contains(it.Text, piece) || strings.Contains(it.Arguments, piece) || strings.Contains(it.Output, piece) {
			return true
		}
	}
	return false
}

// identifier keeps what codes and ids are made of.
func identifier(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-./+", c)) {
			return c
		}
		return -1
	}, s)
	return s[:min(len(s), 80)]
}
