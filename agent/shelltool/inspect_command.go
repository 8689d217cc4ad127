package shelltool

import (
	"path"
	"slices"
	"strings"
)

// command takes a simple command into the inspection and remarks on what its name and words hide.
func (in *inspector) command(c Command) {
	c.At = in.at
	in.Commands = append(in.Commands, c)
	for _, a := range c.Assignments {
		in.variable(a)
	}
	in.words(c.Words, 0)
}

// words remarks on a command by its name. It is run by so many wrappers.
func (in *inspector) words(words []Word, wrappedBy int) {
	if len(words) == 0 || !words[0].Literal {
		return
	}
	name := path.Base(words[0].Text)
	in.named(words[0].Text)
	if slices.Contains(declarations, name) {
		for _, w := range words[1:] {
			in.variable(w)
		}
	}
	switch {
	case name == "eval" || name == "trap" && len(words) > 2 || evaluates(name, words[1:]):
		in.remark(Eval, written(words))
		in.unknown(written(words))
	case name == "." || name == "source":
		in.remark(Source, written(words))
		in.reads(words)
		in.moves = true
	case name == "alias" && len(words) > 1 || name == "hash" && len(words) > 2:
		in.remark(Alias, written(words))
		in.unknown(written(words))
	case slices.Contains(shells, name):
		in.shell(words)
	case slices.Contains(foreign, name):
		in.remark(NestedShell, written(words))
		in.unknown(written(words))
	case slices.Contains(interpreters, strings.TrimRight(name, "0123456789.")):
		in.interpreter(words)
	case slices.Contains(plainWrappers, name):
		in.wrapped(name, words, wrappedBy+1)
	case slices.Contains(wrappers, name) || strings.HasPrefix(name, "ld-") || runsOthers(name, words[1:]):
		in.remark(Wrapper, written(words))
		in.unknown(written(words))
	}
}

func (in *inspector) interpreter(words []Word) {
	if in.fed {
		in.remark(HereDocument, written(words))
	}
	in.remark(Interpreter, written(words))
	in.reads(words)
}

// wrapped remarks on a command that runs the one after it, and looks at that one when it can be told where it begins.
func (in *inspector) wrapped(name string, words []Word, wrappedBy int) {
	rest := words[1:]
	for len(rest) > 0 && name != "exec" && isAssignment(rest[0].Text) {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	if name == "command" && (rest[0].Text == "-v" || rest[0].Text == "-V") {
		return // asks where a command is
	}
	in.remark(Wrapper, written(words))
	if !rest[0].Literal {
		in.remark(VariableCommand, rest[0].Text)
		in.unknown(written(words))
	} else if !strings.HasPrefix(rest[0].Text, "-") && wrappedBy < maxNesting {
		if !slices.Contains([]string{"command", "builtin", "time"}, name) {
			in.program(called{name: rest[0].Text, file: true})
		}
		in.words(rest, wrappedBy)
	} else {
		in.unknown(written(words))
	}
}

// shell looks into what another shell is told to run.
func (in *inspector) shell(words []Word) {
	script, whole := inlineScript(words)
	if !whole || in.at.Inside >= maxNesting {
		in.remark(NestedShell, written(words))
		if script == "" {
			in.reads(words)
		} else { // it reads other files first, or is too deep
			in.unknown(written(words))
		}
	}
	switch {
	case script == "" && in.fed:
		in.remark(HereDocument, written(words))
		in.unknown(written(words))
	case script != "" && in.at.Inside < maxNesting:
		key := nestedScript{in.at, dialectOf(words[0].Text), script}
		nested := in.nested[key]
		if nested == nil {
			nested = newInspector(in.at, key.lang, in.nested)
			nested.at.Inside++
			nested.script(script)
			in.nested[key] = nested
		}
		in.Commands = append(in.Commands, nested.Commands...)
		in.Remarks = append(in.Remarks, nested.Remarks...)
		in.calls.add(&nested.calls)
	}
}

// inlineScript finds the script of SHELL [options] -c [options] SCRIPT, if it is there and literal, and says whether it
// is all that the shell runs.
func inlineScript(words []Word) (script string, whole bool) {
	inline, whole := false, true
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case !words[i].Literal:
			return "", false
		case text == "--" || text == "-":
			if i++; inline && i < len(words) && words[i].Literal {
				return words[i].Text, whole
			}
			return "", false
		case strings.HasPrefix(text, "--"):
			whole = whole && (text == "--norc" || text == "--noprofile" || text == "--posix")
			if text == "--rcfile" || text == "--init-file" {
				i++
			}
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			whole = whole && !strings.ContainsAny(text, "il") // interactive and login shells run other files first
			inline = inline || text[0] == '-' && strings.Contains(text, "c")
			if strings.ContainsAny(text, "oO") {
				i++ // the option's name
			}
		case inline:
			return text, whole
		default:
			return "", false // a file with a script
		}
	}
	return "", false
}

// variable remarks on a word that sets a variable which decides what other words mean.
func (in *inspector) variable(w Word) {
	name, _, ok := strings.Cut(w.Text, "=")
	name = strings.TrimSuffix(name, "+")
	in.paths = in.paths || ok && name == "PATH"
	decides := slices.Contains(decisive, name) ||
		slices.ContainsFunc(decisivePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	if ok && decides {
		in.remark(Environment, w.Text)
	}
}

var (
	decisive = []string{
		"PATH", "HOME", "IFS", "ENV", "BASH_ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "CDPATH",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "NODE_OPTIONS",
		"NODE_PATH", "JAVA_TOOL_OPTIONS", "EDITOR", "VISUAL", "PAGER", "LESSOPEN", "MAKEFLAGS", "GOFLAGS",
	}
	decisivePrefixes = []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_"}
)

func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') && !(r >= '0' && r <= '9')
	})
}

// written joins words for a remark.
func written(words []Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}
