package celpolicy

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
)

// Error says what is wrong with an expression.
type Error struct{ Mistakes []Mistake }

// Mistake is one place in an expression. Line and Column count from 1, columns in characters.
type Mistake struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Message)
	}
	return strings.Join(lines, "\n")
}

func newError(issues *cel.Issues) *Error {
	e := &Error{}
	for _, m := range issues.Errors() {
		// A location is 1-based in lines and 0-based in columns; a missing one is negative.
		e.Mistakes = append(e.Mistakes,
			Mistake{max(m.Location.Line(), 1), max(m.Location.Column()+1, 1), plain(m.Message)})
	}
	return e
}

// plain shortens the messages that people meet most often.
func plain(message string) string {
	message = strings.TrimSuffix(message, " (in container '')")
	if name, ok := strings.CutPrefix(message, "undeclared reference to "); ok {
		return "nothing is called " + name + "; known are args, tool, agent, requester, channel and call_id"
	}
	if name, ok := strings.CutPrefix(message, "undefined field "); ok {
		return "the tool's parameters have no " + name
	}
	return strings.ReplaceAll(message, rootType, "args")
}
