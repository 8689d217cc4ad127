package openaimodel

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"countersign/agent"
	"countersign/agent/internal/redact"
)

// redactor makes texts of the provider fit for people and logs: servers repeat what they were sent, keys and all.
type redactor struct {
	key     string
	secrets redact.Secrets // hidden wherever they stand
	texts   []string       // the conversation, and what else only the operator should see
}

func newRedactor(key string, req *agent.ModelRequest) *redactor {
	r := &redactor{key: key, secrets: make(redact.Secrets), texts: []string{req.Instructions}}
	if key != "" {
		r.secrets[key] = redact.Hidden
	}
	for i := range req.Items {
		it := &req.Items[i]
		switch it.Type {
		case agent.ItemMessage, agent.ItemFunctionCall, agent.ItemFunctionCallOutput, agent.ItemReasoning:
			r.texts = append(r.texts, it.Text, it.Arguments, it.Output)
		default: // what it says stands only in the provider's JSON
			r.texts = appendStrings(r.texts, it.Raw)
		}
	}
	for i := range req.Tools {
		r.hosted(req.Tools[i].Hosted)
	}
	return r
}

// hosted hides how the provider reaches what it executes: addresses, tokens, headers.
func (r *redactor) hosted(definition json.RawMessage) {
	var h struct {
		Authorization string            `json:"authorization"`
		Headers       map[string]string `json:"headers"`
	}
	if len(definition) == 0 || json.Unmarshal(definition, &h) != nil {
		return
	}
	for _, secret := range h.Headers {
		r.secrets.AddHeader(secret)
	}
	r.secrets.AddHeader(h.Authorization)
	r.texts = appendStrings(r.texts, definition)
}

// appendStrings adds every string inside a JSON value, not the names of members.
func appendStrings(texts []string, raw json.RawMessage) []string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var inObject []bool // of each open list or object
	name := false       // the next string is the name of a member
	for {
		token, err := dec.Token()
		if err != nil {
			return texts
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				inObject = append(inObject, t == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			name = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			if !name {
				texts = append(texts, t)
			}
		}
		name = len(inObject) > 0 && inObject[len(inObject)-1] && !name
	}
}

const (
	// maxMessage is how much of a provider's message is kept.
	maxMessage = 300
	// window is the shortest piece of the conversation that is recognised anywhere in a message. Shorter ones are
	// common phrases; in quotes, where servers put the values they object to, nothing is too short.
	window = 16
)

var quotedPattern = regexp.MustCompile("'[^']+'|\"[^\"]+\"|`[^`]+`")

var secretPattern = regexp.MustCompile(
	`(?i)\b(?:sk|sess|org|proj|key)-[a-z0-9_*.\-]{4,}|\bbearer\s+\S+|\beyJ[A-Za-z0-9_\-.]{16,}`)

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
	message = r.secrets.Replacer().Replace(message)
	message = secretPattern.ReplaceAllString(message, redact.Hidden)
	if runes := []rune(message); len(runes) > maxMessage {
		message = string(runes[:maxMessage]) + redact.Hidden
	}
	message = quotedPattern.ReplaceAllStringFunc(message, func(quoted string) string {
		if r.said(quoted[1 : len(quoted)-1]) {
			return redact.Hidden
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
			b.WriteString(redact.Hidden)
		}
	}
	return b.String()
}

// said reports whether a piece of text stands in the conversation.
func (r *redactor) said(piece string) bool {
	return slices.ContainsFunc(r.texts, func(text string) bool { return strings.Contains(text, piece) })
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
