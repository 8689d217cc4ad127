package bot

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/internal/visible"
)

// plainText is the script, the words or the patch of a call, taken out of its arguments.
type plainText struct {
	heading string
	text    string // rendered visible, many lines
	hidden  bool   // something in it was written out
	// easier says that it is easier to read than the arguments, in which line breaks and quotes are escaped.
	easier bool
}

// textArguments are the arguments of shell and patch tools, in all their forms.
type textArguments struct {
	Argv     []string `json:"argv"`
	Script   *string  `json:"script"`
	Commands []string `json:"commands"`
	Patch    *string  `json:"patch"`
	Type     *string  `json:"type"`
	Path     *string  `json:"path"`
	Diff     *string  `json:"diff"`

	Seconds json.Number `json:"timeout_seconds"`
	Millis  json.Number `json:"timeout_ms"`
	Length  json.Number `json:"max_output_length"`
}

// plainTextOf finds the plain text of a call. ok is false where the arguments hold none, or something else too.
func plainTextOf(kind agent.ToolKind, arguments json.RawMessage) (p plainText, ok bool) {
	switch kind {
	case agent.KindShell, agent.KindApplyPatch:
	case agent.KindAgent, agent.KindCustom:
		return onlyInput(arguments)
	default:
		return p, false
	}
	var a textArguments
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.DisallowUnknownFields()
	if dec.Decode(&a) != nil {
		return p, false
	}
	switch {
	case kind == agent.KindShell && a.Script != nil:
		return asLines(wordsScript, *a.Script), true
	case kind == agent.KindShell && len(a.Commands) == 1:
		return asLines(wordsScript, a.Commands[0]), true
	case kind == agent.KindShell && len(a.Commands) > 1:
		return numbered(wordsScripts, a.Commands), true
	case kind == agent.KindShell && len(a.Argv) > 0:
		return numbered(wordsProgram, a.Argv), true
	case kind == agent.KindApplyPatch && a.Patch != nil:
		return asLines(wordsPatch, *a.Patch), true
	case kind == agent.KindApplyPatch && a.Type != nil && a.Path != nil && a.Diff != nil:
		p := asLines(wordsPatch, *a.Diff)
		name, escaped := visible.Text(*a.Type+" "+*a.Path, visible.OneLine)
		p.text, p.hidden = name+"\n"+p.text, p.hidden || escaped
		return p, true
	}
	return p, false
}

// onlyInput takes the argument of a tool that has only "input".
func onlyInput(arguments json.RawMessage) (plainText, bool) {
	var a map[string]string
	if json.Unmarshal(arguments, &a) != nil || len(a) != 1 || a["input"] == "" {
		return plainText{}, false
	}
	return asLines(wordsInput, a["input"]), true
}

func asLines(heading, text string) plainText {
	out, escaped := visible.Text(strings.TrimSuffix(text, "\n"), visible.Source)
	return plainText{heading, out, escaped, differs(text)}
}

// differs reports whether text looks different in JSON.
func differs(text string) bool { return strings.ContainsAny(text, "\n\t\"\\") }

// numbered puts each text behind its number. Only its first line begins with the number, the others are indented.
func numbered(heading string, all []string) plainText {
	p := plainText{heading: heading}
	lines := make([]string, len(all))
	for i, text := range all {
		out, escaped := visible.Text(text, visible.Source)
		number := strconv.Itoa(i + 1)
		lines[i] = number + " " + strings.ReplaceAll(out, "\n", "\n"+strings.Repeat(" ", len(number))+" ")
		p.hidden, p.easier = p.hidden || escaped, p.easier || differs(text)
	}
	p.text = strings.Join(lines, "\n")
	return p
}
