package redact

import (
	"encoding/base64"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// minHidden is how long a secret must be to be taken out of what models read: a shorter one would take ordinary words
// along, and guards nothing.
const minHidden = 6

// Output takes configured secrets out of what a server or command answers, before a model reads it. The zero value
// takes nothing out.
type Output struct {
	replacer *strings.Replacer
	secrets  []string
}

// Credentials collects the secrets of a configuration for an Output.
type Credentials struct{ found Secrets }

// AddExpanded adds what stands in a value for the variables of the text that an operator wrote.
func (c *Credentials) AddExpanded(written, value string) {
	if written == "" || written == value {
		return
	}
	parts := make(Secrets)
	parts.AddExpanded(written, value)
	for text := range parts {
		c.add(text)
	}
}

// AddURL is AddExpanded for a URL, whose host is no secret.
func (c *Credentials) AddURL(written, value string) {
	u, err := url.Parse(value)
	if err != nil || written == "" || written == value {
		return
	}
	parts := make(Secrets)
	parts.AddExpanded(written, value)
	for text := range parts {
		if !strings.Contains(u.Host, text) {
			c.add(text)
		}
	}
	// Where one variable ends and the next begins cannot always be told: so every piece that is not written out counts.
	pieces := strings.Split(u.Path, "/")
	for _, values := range u.Query() {
		pieces = append(pieces, values...)
	}
	for _, piece := range pieces {
		if !strings.Contains(written, piece) {
			c.add(piece)
		}
	}
}

// AddHeader adds the value of a header as it was written, or, where that is not known, all of it if its name speaks of
// a secret.
func (c *Credentials) AddHeader(name, written, value string) {
	if written != "" {
		c.AddExpanded(written, value)
	} else if secretName.MatchString(name) {
		c.add(value)
		for word := range strings.FieldsSeq(value) {
			c.add(word)
		}
	}
	if encoded, ok := strings.CutPrefix(value, "Basic "); ok && written != value {
		if pair, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			c.add(string(pair))
			c.add(password)
		}
	}
}

var secretName = regexp.MustCompile(`(?i)token|key|secret|pass|cred|auth|cookie|session`)

// AddVariable adds the value of an environment variable as it was written, or, where that is not known, if its name
// speaks of a secret.
func (c *Credentials) AddVariable(name, written, value string) {
	if written != "" {
		c.AddExpanded(written, value)
	} else if secretName.MatchString(name) {
		c.add(value)
	}
}

// add hides a text in all its forms.
func (c *Credentials) add(text string) {
	if len(text) < minHidden {
		return
	}
	if c.found == nil {
		c.found = make(Secrets)
	}
	for _, form := range formsOf(text) {
		c.found[form] = Hidden
	}
}

// Output is what takes them out.
func (c *Credentials) Output() *Output {
	return &Output{replacer: c.found.Replacer(), secrets: slices.Collect(maps.Keys(c.found))}
}

// Hide takes the secrets out of a text.
func (o *Output) Hide(text string) string {
	if o == nil || len(o.secrets) == 0 {
		return text
	}
	return o.replacer.Replace(text)
}

// HideCut is Hide for a text that was cut off at its end: a secret that the cut went through does not stay in part.
func (o *Output) HideCut(text string) string {
	text = o.Hide(text)
	if o == nil {
		return text
	}
	most := 0
	for _, secret := range o.secrets {
		for n := min(len(secret)-1, len(text)); n > max(most, minSecret-1); n-- {
			if strings.HasSuffix(text, secret[:n]) {
				most = n
			}
		}
	}
	if most == 0 {
		return text
	}
	return text[:len(text)-most] + Hidden
}

// HideRest is Hide for a text whose beginning was cut off.
func (o *Output) HideRest(text string) string {
	text = o.Hide(text)
	if o == nil {
		return text
	}
	most := 0
	for _, secret := range o.secrets {
		for n := min(len(secret)-1, len(text)); n > max(most, minSecret-1); n-- {
			if strings.HasPrefix(text, secret[len(secret)-n:]) {
				most = n
			}
		}
	}
	if most == 0 {
		return text
	}
	return Hidden + text[most:]
}
