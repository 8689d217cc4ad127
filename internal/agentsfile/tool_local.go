package agentsfile

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The names of tools that need none.
const (
	defaultShellName  = "shell"
	defaultPatchName  = "apply_patch"
	defaultSearchName = "web_search"
)

const mostOutput = 1 << 20

func (o *object) decodeShell(what string) *Tool {
	t := o.decodeCommon(defaultShellName, 0)
	o.require(what, "workdir")
	t.Directory = o.directory("workdir")
	t.Env = o.decodeEnv()
	if n := o.of("shell", kindString); n != nil {
		t.Shell = n.text
		if o.noVariables(n, "shell"); !filepath.IsAbs(n.text) {
			o.problem(n.pos, "shell is the absolute path of a program such as /bin/sh, not %q", n.text)
		}
	}
	t.MaxOutput = o.integer("max_output", 256, mostOutput, 0)
	t.Native = o.flag("native")
	return t
}

func (o *object) decodePatch(what string) *Tool {
	t := o.decodeCommon(defaultPatchName, 0)
	o.require(what, "root")
	t.Directory = o.directory("root")
	t.Allow = o.literals("allow", func(s string) string {
		if _, err := path.Match(s, ""); err != nil {
			return "is no pattern of paths such as docs/*.md"
		}
		return ""
	})
	t.Native = o.flag("native")
	return t
}

// directory returns a directory, which the tool looks for itself.
func (o *object) directory(key string) Text {
	t := o.text(key)
	if t.Value != "" && !filepath.IsAbs(t.Value) {
		o.problem(t.Position,
			"%s is an absolute path, not %q: where the program is started must not matter", key, t.Written)
	}
	return t
}

// flag returns a truth value that is false when left out.
func (o *object) flag(key string) bool {
	b := o.boolean(key)
	return b != nil && *b
}

func (o *object) decodeEnv() []EnvVar {
	n := o.of("env", kindMapping)
	if n == nil {
		return nil
	}
	var env []EnvVar
	for _, e := range n.entries {
		switch {
		case !isVariable(e.key):
			o.problem(e.pos, "%q is no name of an environment variable", e.key)
		case e.value.kind != kindString:
			o.wrongType(e.value, "variable "+e.key, kindString)
		default:
			t := o.expand(e.value)
			if strings.ContainsRune(t.Value, 0) {
				o.problem(e.value.pos, "the value of variable %s holds a NUL", e.key)
			}
			env = append(env, EnvVar{e.key, t})
		}
	}
	return env
}

// literals returns a list of texts without variables. wrong says what is wrong with one, if anything.
func (o *object) literals(key string, wrong func(string) string) []string {
	var list []string
	for _, n := range o.list(key) {
		if !o.entry(key, n) {
			continue
		}
		o.noVariables(n, key)
		if why := wrong(n.text); why != "" {
			o.problem(n.pos, "%s: %q %s", key, n.text, why)
		}
		if slices.Contains(list, n.text) {
			o.problem(n.pos, "%s: %q is there twice", key, n.text)
		}
		list = append(list, n.text)
	}
	return list
}

func anything(string) string { return "" }

// entry reports whether n is a text that says something, and notes when it is not.
func (d *decoder) entry(key string, n *node) bool {
	switch {
	case n.kind != kindString:
		d.wrongType(n, "an entry of "+key, kindString)
	case n.text == "":
		d.problem(n.pos, "an entry of %s is empty", key)
	default:
		return true
	}
	return false
}

// reference returns the name of another thing in the file; an empty one when absent or, after noting it, of another
// kind.
func (o *object) reference(key string) Reference {
	n := o.of(key, kindString)
	if n == nil {
		return Reference{}
	}
	return Reference{n.pos, n.text}
}

// references returns a list of names of other things in the file.
func (o *object) references(key string) []Reference {
	var list []Reference
	for _, n := range o.list(key) {
		if !o.entry(key, n) {
			continue
		}
		if slices.ContainsFunc(list, func(r Reference) bool { return r.Name == n.text }) {
			o.problem(n.pos, "%s: %q is there twice", key, n.text)
			continue
		}
		list = append(list, Reference{n.pos, n.text})
	}
	return list
}

func (o *object) decodeAgentTool(what string) *Tool {
	o.require(what, "agent", "description")
	agent := o.reference("agent")
	t := o.decodeCommon(agent.Name, 0)
	t.Agent = agent
	t.MaxTurns = o.integer("max_turns", 1, mostTurns, 0)
	return t
}

func (o *object) decodeExternal(what string) *Tool {
	o.require(what, "name", "description")
	t := o.decodeCommon("", 0)
	o.decodeParameters(t)
	t.Trigger = o.decodeTrigger()
	return t
}

func (o *object) decodeAsk(what string) *Tool {
	o.require(what, "name", "description")
	return o.decodeCommon("", 0)
}

func (o *object) decodeWebSearch(string) *Tool { return o.decodeCommon(defaultSearchName, 0) }
