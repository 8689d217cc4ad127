package mcptoolset

import (
	"os"
	"path/filepath"
	"strings"

	"countersign/agent/internal/oneline"
	"countersign/agent/internal/redact"
)

// secrets puts what stands for them into the texts that must not appear in errors and logs.
func (d *declared) secrets() *strings.Replacer {
	s := make(redact.Secrets)
	if d.url != nil {
		s.AddExpanded(d.WrittenURL, d.URL+d.SSE)
		s.Add(d.url.RawQuery)
		for _, values := range d.url.Query() {
			for _, v := range values {
				s.Add(v)
			}
		}
		s[d.url.String()], s[d.URL+d.SSE] = d.where(), d.where()
	}
	for _, value := range d.Headers {
		s.AddHeader(value)
	}
	for _, value := range d.Env {
		s.Add(value)
	}
	for i, arg := range d.Command {
		if i < len(d.WrittenCommand) && d.WrittenCommand[i] != arg {
			s.Add(arg)
			s.AddExpanded(d.WrittenCommand[i], arg)
		}
	}
	return s.Replacer()
}

// credentials are what is taken out of what a server says to models: its answers, and how it describes its tools.
func (d *declared) credentials() *redact.Output {
	var c redact.Credentials
	c.AddURL(d.WrittenURL, d.URL+d.SSE)
	for name, value := range d.Headers {
		c.AddHeader(name, d.WrittenHeaders[name], value)
	}
	for name, value := range d.Env {
		if !isPath(value) {
			c.AddVariable(name, d.WrittenEnv[name], value)
		}
	}
	for i, arg := range d.Command {
		if i < len(d.WrittenCommand) && !isPath(arg) {
			c.AddExpanded(d.WrittenCommand[i], arg)
		}
	}
	return c.Output()
}

// isPath reports whether a value is the name of a file that is there, which answers are full of.
func isPath(value string) bool {
	_, err := os.Stat(value)
	return err == nil && filepath.IsAbs(value)
}

// say makes the text of an error fit to be shown and logged.
func (s *Server) say(text string) string { return oneline.Of(s.redact.Replace(text), 300) }
