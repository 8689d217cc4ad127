package agentsfile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Title is what a tool's `title` says: the headline of its questions, with the values of arguments in it. The zero
// value is none.
type Title struct {
	Parts []TitlePart
	At    Position
}

// TitlePart is a text, or the name of an argument whose value stands there.
type TitlePart struct{ Text, Argument string }

const (
	titleKey  = "title"
	mostTitle = 120 // characters
)

// decodeTitle reads the key `title`.
func (o *object) decodeTitle() Title {
	n := o.of(titleKey, kindString)
	if n == nil {
		return Title{}
	}
	o.noVariables(n, titleKey)
	t := Title{At: n.pos}
	bad := func(format string, args ...any) Title {
		o.problem(n.pos, format, args...)
		return Title{}
	}
	switch {
	case strings.TrimSpace(n.text) == "":
		return bad("title is empty; leave it out to have the tool's name and its first arguments")
	case utf8.RuneCountInString(n.text) > mostTitle:
		return bad("title has more than %d characters", mostTitle)
	case strings.ContainsFunc(n.text, func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) }):
		return bad("title holds a line break or another character that shows nothing; it is one line")
	}
	for rest := n.text; rest != ""; {
		before, inner, opened := strings.Cut(rest, "{{")
		if strings.Contains(before, "}}") {
			return bad("title has }} without {{ before it")
		}
		if before != "" {
			t.Parts = append(t.Parts, TitlePart{Text: before})
		}
		if !opened {
			break
		}
		expression, after, closed := strings.Cut(inner, "}}")
		if !closed {
			return bad("title has {{ without }} behind it")
		}
		name, ok := strings.CutPrefix(strings.TrimSpace(expression), "args.")
		if !ok || !isName(name) {
			return bad("title: {{%s}} is no argument; write {{args.NAME}} with the name of one", expression)
		}
		t.Parts = append(t.Parts, TitlePart{Argument: name})
		rest = after
	}
	return t
}
