package mcptoolset

import (
	"regexp"
	"strings"

	"countersign/agent/internal/oneline"
)

// minSecret is how long a text must be to be taken for a secret: shorter ones are in every sentence.
const minSecret = 4

// secrets lists the texts that must not appear in errors and logs, each with what stands for it.
func (d *declared) secrets() *strings.Replacer {
	var pairs []string
	if d.url != nil {
		pairs = append(pairs, d.url.String(), d.where(), d.URL+d.SSE, d.where())
		for _, value := range expanded(d.WrittenURL, d.URL+d.SSE) {
			pairs = appendSecret(pairs, value)
		}
		if d.url.RawQuery != "" {
			pairs = append(pairs, d.url.RawQuery, "…")
		}
		for _, values := range d.url.Query() {
			for _, v := range values {
				pairs = appendSecret(pairs, v)
			}
		}
	}
	for _, value := range d.Headers {
		pairs = appendSecret(pairs, value)
		for _, part := range strings.Fields(value) { // of "Bearer x", a server may repeat x alone
			if part != "Bearer" && part != "Basic" {
				pairs = appendSecret(pairs, part)
			}
		}
	}
	for _, value := range d.Env {
		pairs = appendSecret(pairs, value)
	}
	for i, arg := range d.Command {
		if i < len(d.WrittenCommand) && d.WrittenCommand[i] != arg {
			pairs = appendSecret(pairs, arg)
			for _, value := range expanded(d.WrittenCommand[i], arg) {
				pairs = appendSecret(pairs, value)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

var variable = regexp.MustCompile(`\$\{\w+\}`)

// expanded returns what stands in a text for the variables in it as it was written.
func expanded(written, text string) (values []string) {
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
			values = append(values, value)
		}
	}
	return values
}

func appendSecret(pairs []string, value string) []string {
	if len(value) < minSecret {
		return pairs
	}
	return append(pairs, value, "…")
}

// say makes the text of an error fit to be shown and logged.
func (s *Server) say(text string) string { return oneline.Of(s.redact.Replace(text), 300) }
