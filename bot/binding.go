package bot

import (
	"encoding/json"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// bound is what a tool is bound to, in words, under a heading that says what the tool does.
type bound struct {
	heading, aside string
	lines          []string
}

// boundTo puts a tool's binding into words for people. What a server says about its own tool comes apart from it. Every
// part of the binding is in one of them; parts in a form that is not known stay as they are.
func boundTo(t approvals.ToolSnapshot) (where, claims bound) {
	switch t.Kind {
	case agent.KindHTTP:
		return bound{heading: wordsSendsTo, lines: httpCall(t.Binding)}, bound{}
	case agent.KindShell:
		return bound{heading: wordsRunsHere, lines: worded(t.Binding, wordsShellParts, " ")}, bound{}
	case agent.KindApplyPatch:
		return bound{heading: wordsChangesFiles, lines: worded(t.Binding, wordsPatchParts, " ")}, bound{}
	case agent.KindMCP:
		return serverTool(t.Binding)
	case agent.KindHostedMCP:
		return bound{wordsMCPServer, wordsOfModelProvider, worded(t.Binding, wordsHostedParts, " ")}, bound{}
	case agent.KindAgent:
		return bound{heading: wordsSetsToWork, lines: t.Binding}, bound{}
	}
	return bound{heading: wordsBoundTo, lines: t.Binding}, bound{}
}

// httpCall is the binding of an HTTP call: method, URL, and the names of headers.
func httpCall(parts []string) []string {
	if len(parts) < 2 {
		return parts
	}
	lines := []string{parts[0] + " " + parts[1]}
	if names := parts[2:]; len(names) > 0 {
		lines = append(lines, wordsWithHeaders(strings.Join(names, ", ")))
	}
	return lines
}

// worded replaces the first word of each part. Environment variables in a row share a line.
func worded(parts []string, words map[string]string, separator string) []string {
	var lines []string
	variables := false // the last line lists variables
	for _, part := range parts {
		name, value, _ := strings.Cut(part, separator)
		word, known := words[name]
		listed := name == "env" && plainName(value)
		switch {
		case !known:
			lines = append(lines, part)
		case value == "": // there is none
		case listed && variables:
			lines[len(lines)-1] += ", " + value
		case name == "env" && !listed:
			lines = append(lines, wordsVariableNamed(value))
		default:
			lines = append(lines, word+value)
		}
		variables = known && listed
	}
	return lines
}

// plainName reports whether a name cannot be taken for more than one.
func plainName(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// serverTool takes the binding of a tool of an MCP server apart: how the server is reached is the operator's word, what
// follows is the server's own.
func serverTool(parts []string) (where, claims bound) {
	where = bound{heading: wordsMCPServer}
	claims = bound{heading: wordsServerSays, aside: wordsUnchecked}
	i := slices.IndexFunc(parts, func(part string) bool { return strings.HasPrefix(part, "tool=") })
	if i < 0 {
		i = len(parts)
	}
	own, said := parts[:i], parts[i:]
	own = slices.Clone(own)
	for i, part := range own {
		var words []string
		if list, ok := strings.CutPrefix(part, "command="); ok && json.Unmarshal([]byte(list), &words) == nil {
			own[i] = "command=" + spelled(words)
		}
	}
	where.lines = worded(own, wordsServerParts, "=")
	for _, part := range said {
		name, value, _ := strings.Cut(part, "=")
		switch words, known := wordsHints[name]; {
		case value == "": // it says nothing
		case known && value == "true":
			claims.lines = append(claims.lines, words[0]+" ("+part+")")
		case known && value == "false":
			claims.lines = append(claims.lines, words[1]+" ("+part+")")
		default:
			claims.lines = append(claims.lines, worded([]string{part}, wordsClaimParts, "=")...)
		}
	}
	return where, claims
}
