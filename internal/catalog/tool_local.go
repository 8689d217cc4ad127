package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/agent/patchtool"
	"countersign/agent/shelltool"
	"countersign/internal/agentsfile"
)

// newShellTool makes the tool that the file declares, without a gate.
func newShellTool(t *agentsfile.Tool) (agent.Tool, error) {
	env, written := make(map[string]string, len(t.Env)), make(map[string]string, len(t.Env))
	for _, v := range t.Env {
		env[v.Name], written[v.Name] = v.Value.Value, v.Value.Written
	}
	tool, err := shelltool.New(shelltool.Config{
		Name: t.Name, Description: t.Description, Version: t.Version,
		Workdir: t.Directory.Value, WrittenWorkdir: t.Directory.Written,
		Env: env, WrittenEnv: written, Shell: t.Shell, Timeout: t.Timeout, MaxOutput: t.MaxOutput, Native: t.Native,
	})
	loose, shell := tool.Explain, cmp.Or(t.Shell,
		shelltool.DefaultShell) // loose: what of a call decisions are not bound to
	tool.NeedsApproval, tool.Explain = nil, func(call *agent.ToolCall) []string {
		return append(loose(call),
			explainShell(shell, call)...)
	}
	return tool, err
}

// newPatchTool makes the tool that the file declares, without a gate.
func newPatchTool(t *agentsfile.Tool) (agent.Tool, error) {
	tool, err := patchtool.New(patchtool.Config{
		Name: t.Name, Description: t.Description, Version: t.Version,
		Root: t.Directory.Value, WrittenRoot: t.Directory.Written,
		Allow: t.Allow, Native: t.Native,
	})
	tool.NeedsApproval, tool.Explain = nil, explainPatch
	tool.Timeout = t.Timeout
	return tool, err
}

// handoffDescription tells the model when to hand over, from the first sentence of the other agent's instructions.
func handoffDescription(to *agentsfile.Agent) string {
	first, _, _ := strings.Cut(strings.TrimSpace(to.Instructions.Written), "\n")
	return "Hand the conversation over to the agent " + to.Name + ". Its instructions begin: " + first
}

// explainShell lists the commands of a call, behind what cannot be read off it: where there is little room, that is
// what somebody has to see.
func explainShell(shell string, call *agent.ToolCall) []string {
	in, err := shelltool.InspectFor(shell, call.Arguments)
	if err != nil {
		return nil
	}
	var lines []string
	for _, r := range in.Remarks {
		lines = append(lines, "careful, "+remarkWords[r.Kind]+": "+r.Text)
	}
	for _, c := range in.Commands {
		lines = append(lines, "runs "+commandText(c))
	}
	return lines
}

// commandText writes a command as a shell would read it: words with other characters than plain ones in quotes.
func commandText(c shelltool.Command) string {
	var words []string
	for _, w := range slices.Concat(c.Assignments, c.Words) {
		words = append(words, wordText(w))
	}
	for _, r := range c.Redirections {
		words = append(words, r.Operator+" "+wordText(r.Target))
	}
	return strings.Join(words, " ")
}

func wordText(w shelltool.Word) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./=:,+@%", r)
	}
	if !w.Literal || w.Text != "" && strings.IndexFunc(w.Text, func(r rune) bool { return !plain(r) }) < 0 {
		return w.Text
	}
	return strconv.Quote(w.Text)
}

// remarkWords say what a remark means for somebody who has to decide.
var remarkWords = map[shelltool.RemarkKind]string{
	shelltool.SyntaxError:         "cannot be read from here on",
	shelltool.Dialect:             "shells read this differently",
	shelltool.CarriageReturn:      "holds a carriage return, which is part of a word",
	shelltool.CommandSubstitution: "runs commands whose output becomes part of a command",
	shelltool.ProcessSubstitution: "runs commands behind a file name",
	shelltool.Eval:                "runs text as commands",
	shelltool.Source:              "reads commands from a file",
	shelltool.VariableCommand:     "what is run is known only then",
	shelltool.GlobCommand:         "what is run depends on which files exist",
	shelltool.NestedShell:         "another shell runs something that cannot be read here",
	shelltool.Interpreter:         "runs code in another language",
	shelltool.HereDocument:        "a program reads its commands from text",
	shelltool.Wrapper:             "runs another command, named by its words",
	shelltool.Alias:               "gives names another meaning",
	shelltool.Function:            "gives a name another meaning",
	shelltool.Environment:         "sets a variable that decides what names and programs mean",
}

// explainPatch lists what a call does to which files.
func explainPatch(call *agent.ToolCall) []string {
	changes, err := patchtool.Explain(call.Arguments)
	if err != nil {
		return nil
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return lines
}
