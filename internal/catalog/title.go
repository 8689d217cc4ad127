package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

// title gives the tool the headline that the file wants. It reports whether it could: an argument that the tool does
// not take would always be missing.
func (b *builder) title(t *agentsfile.Tool, tool *agent.Tool) bool {
	if len(t.Title.Parts) == 0 {
		return true
	}
	known := propertiesOf(tool)
	for _, p := range t.Title.Parts {
		if p.Argument != "" && !slices.Contains(known, p.Argument) {
			b.problem(t.Title.At, "title: %s", unknownArgument(tool.Name, p.Argument, known))
			return false
		}
	}
	parts := t.Title.Parts
	tool.Headline = func(call *agent.ToolCall) string { return headlineOf(parts, call.Arguments) }
	return true
}

// headlineOf puts the values of a call's arguments in their places.
func headlineOf(parts []agentsfile.TitlePart, arguments json.RawMessage) string {
	var has map[string]json.RawMessage
	if json.Unmarshal(arguments, &has) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Argument == "" {
			b.WriteString(p.Text)
		} else {
			b.WriteString(titleValue(has[p.Argument]))
		}
	}
	return b.String()
}

// mostTitleValue is how many characters of a value stand in a headline.
const mostTitleValue = 80

// titleValue writes a value for a headline. What could be taken for a part of the sentence stands in quotes.
func titleValue(raw json.RawMessage) string {
	var text string
	switch {
	case raw == nil:
		return "(nothing)"
	case raw[0] != '"' || json.Unmarshal(raw, &text) != nil:
		return cutValue(string(raw))
	}
	if plainValue(text) {
		return cutValue(text)
	}
	return "“" + cutValue(text) + "”"
}

func cutValue(text string) string {
	if runes := []rune(text); len(runes) > mostTitleValue {
		return string(runes[:mostTitleValue-1]) + "…"
	}
	return text
}

// plainValue reports whether a value is a name or a number of a few words, that needs no quotes: “Acme Ltd”, an
// address, a path.
func plainValue(text string) bool {
	words := strings.Split(text, " ")
	if len(words) > 3 || strings.HasPrefix(text, "•••") {
		return strings.HasPrefix(text, "•••")
	}
	for _, w := range words {
		control := strings.ContainsFunc(w, func(r rune) bool { return r < ' ' })
		if w == "" || control || strings.ContainsAny(w, "“”\"'(),;:!?…") {
			return false
		}
	}
	return true
}
