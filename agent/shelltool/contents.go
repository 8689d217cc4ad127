package shelltool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/agent"
)

// target is a program or a file with code that a call names beside its first program.
type target struct {
	called
	path  string // where it is; empty: nowhere
	loose string // why its content is not bound, if it is not
}

// targets are what a call names, each once.
func (t *tool) targets(r request) (targets []target, unknowns []string) {
	in := inspect(r, dialectOf(t.Shell))
	programs := in.programs
	if r.argv != nil {
		programs = programs[1:] // the program itself
	}
	if !slices.Contains(shells, filepath.Base(t.Shell)) && r.argv == nil {
		return nil, []string{"what the script names: " + t.Shell + " is not a shell that can be read here"}
	}
	seen := make(map[called]bool)
	for _, c := range programs {
		key := called{name: c.name, code: c.code, moved: c.moved}
		if !seen[key] && (c.code || c.file || strings.Contains(c.name, "/") || !slices.Contains(builtins, c.name)) {
			seen[key] = true
			targets = append(targets, t.target(c, &in.calls))
		}
	}
	return targets, in.unknowns
}

func (t *tool) target(c called, all *calls) target {
	found := target{called: c}
	slash := c.code || strings.Contains(c.name, "/")
	switch {
	case slash && magic(t.absolute(c.name)):
		found.loose = "it leads each process to another file"
	case slash && !filepath.IsAbs(c.name) && (c.moved || all.moves && all.loops):
		found.loose = "the directory may change before"
	case !slash && all.paths:
		found.loose = "the PATH changes before"
	case !slash && slices.Contains(all.renamed, c.name):
		found.loose = "a function has that name"
	case c.code:
		found.path, _ = resolve(t.absolute(c.name)) // one that is not there is bound as that
		if info, err := os.Stat(found.path); err == nil && !info.Mode().IsRegular() {
			found.loose = "it is not a file"
		}
	default:
		at, _ := t.program(c.name)
		found.path = at.path
	}
	return found
}

// contents are facts about all that a call names beside its first program. Programs that are found in the PATH are put
// into one.
func (t *tool) contents(ctx context.Context, r request) (facts []string, err error) {
	var names []string
	inPath := sha256.New()
	targets, _ := t.targets(r)
	for _, found := range targets {
		if found.loose != "" {
			continue
		}
		sum, err := found.sum(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case found.code:
			facts = append(facts, "file "+t.shown(found.place())+" "+sum)
		case strings.Contains(found.name, "/"):
			facts = append(facts, "program "+t.shown(found.place())+" "+sum)
		default:
			name := found.name
			if sum == closedProgram {
				name += " (" + sum + ")"
			}
			names = append(names, name)
			fmt.Fprintf(inPath, "%q %q %s\n", found.name, found.path, sum)
		}
	}
	if len(names) > 0 {
		facts = append(facts, fmt.Sprintf("programs in PATH: %s sha256:%x", strings.Join(names, ", "), inPath.Sum(nil)))
	}
	return facts, nil
}

// closedProgram stands for the content of a program that may be run and not read.
const closedProgram = "cannot be read, content not bound"

// sum says what the content is.
func (f *target) sum(ctx context.Context) (string, error) {
	if f.path == "" {
		return "absent", nil
	}
	p, err := openProgram(ctx, f.path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return closedProgram, nil
	case err != nil:
		return "", fmt.Errorf("%q cannot be read: %w", f.name, cause(err))
	}
	p.Close()
	return "sha256:" + p.sum, nil
}

// place is where the target is, or would be.
func (f *target) place() string {
	if f.path == "" {
		return f.name
	}
	return f.path
}

// explain says what of a call a decision is not bound to although the call runs it.
func (t *tool) explain(call *agent.ToolCall) (lines []string) {
	r, err := t.request(call.Arguments)
	if err != nil {
		return nil
	}
	targets, unknowns := t.targets(r)
	for _, found := range targets {
		if found.loose != "" {
			lines = append(lines, "content not bound: "+found.name+", "+found.loose)
		}
	}
	for _, text := range unknowns {
		lines = append(lines, "content not bound, it cannot be named before: "+text)
	}
	return lines
}

// builtins are names that shells do not look for in the PATH.
var builtins = strings.Fields(`. : [ alias bg bind break builtin caller cd chdir command compgen complete compopt
	continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let
	local logout mapfile nameref popd printf pushd pwd read readarray readonly return set shift shopt source suspend
	test time times trap true type typeset ulimit umask unalias unset wait`)
