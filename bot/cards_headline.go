package bot

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// maxHeadline is how many characters a headline has at most; Slack takes 150 in a header.
const maxHeadline = 140

// maxHeadlineValue is how many characters of one argument stand in a headline.
const maxHeadlineValue = 80

// headline says on one line what the call does, for whoever has five seconds: the tool's own headline, else its name
// and first arguments; of a question its text. It is plain text, made visible and cut, and secret values are masked.
// It is a summary: people decide about the arguments, which stand elsewhere.
func headline(r *approvals.Request) string {
	if q := r.Question(); q != nil {
		return label(firstLine(q.Question), maxHeadline)
	}
	if r.Headline != "" {
		return label(r.Headline, maxHeadline)
	}
	values := firstArguments(r)
	if len(values) == 0 {
		return toolName(r)
	}
	return label(r.Tool.Name+": "+strings.Join(values, ", "), maxHeadline)
}

// firstArguments returns the first few texts and numbers of a call's arguments, in the order of the schema; of a shell
// what it runs, and of a patch the files.
func firstArguments(r *approvals.Request) (values []string) {
	const most = 3
	all, ok := membersOf(r.Mask().Arguments)
	switch {
	case !ok:
		return nil
	case r.Tool.Kind == agent.KindApplyPatch:
		return changedFiles(r.Explanation[:min(most, len(r.Explanation))])
	}
	slices.SortStableFunc(all, func(a, b member) int { return orderOf(r.Order, a.name) - orderOf(r.Order, b.name) })
	for _, m := range all {
		var text string
		switch {
		case len(values) == most:
			return values
		case slices.Contains(r.Secret, m.name): // its mask would say nothing
			continue
		case r.Tool.Kind == agent.KindShell && m.name != "script" && m.name != "argv" && m.name != "commands":
			continue
		case r.Tool.Kind == agent.KindShell && m.value[0] == '[':
			var list []string
			if json.Unmarshal(m.value, &list) == nil {
				text = firstLine(spelled(list))
			}
		case m.value[0] == '"':
			if json.Unmarshal(m.value, &text) == nil {
				text = firstLine(text)
			}
		case m.value[0] == '-' || m.value[0] >= '0' && m.value[0] <= '9':
			text = string(m.value)
		}
		if runes := []rune(text); len(runes) > maxHeadlineValue {
			text = string(runes[:maxHeadlineValue-1]) + "…"
		}
		if text != "" {
			values = append(values, text)
		}
	}
	return values
}

// changedFiles are the names in the lines of a patch's explanation: "updated a/b.go (+1 -1)".
func changedFiles(lines []string) (names []string) {
	for _, line := range lines {
		_, name, _ := strings.Cut(line, " ")
		if i := strings.LastIndex(name, " (+"); i > 0 {
			name = name[:i]
		}
		names = append(names, name)
	}
	return names
}

// firstLine is the first line of a text that says something; that more follow is said.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first = strings.TrimSpace(first); strings.TrimSpace(rest) != "" {
		return first + " …"
	}
	return first
}

// spelled joins words so that one can tell where each ends: those with anything else than plain characters are quoted.
func spelled(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		if all[i] = w; w == "" || strings.ContainsAny(w, " \t\r\n\"'\\`$;&|<>") {
			all[i] = strconv.Quote(w)
		}
	}
	return strings.Join(all, " ")
}
