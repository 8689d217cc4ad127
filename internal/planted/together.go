package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// variable is the environment variable that says which bug a process has, where several are compiled into it.
const variable = "COUNTERSIGN_PLANTED_BUG"

// together lays those bugs over the code of the module at root that can be there at the same time, each behind a
// condition that is true in processes whose environment names it. What they change is compiled once then, instead of
// once for each. It returns the files as they are with the bugs, by path, and the names of those that are in them: all
// but the bugs that change more than the bodies of functions, and those in functions with labels, which must not stand
// there twice.
func together(root string, bugs []bug) (files map[string]string, in map[string]bool, err error) {
	bodies := map[string][]variant{}
	in = map[string]bool{}
	for _, b := range bugs {
		changed, err := b.changed(root)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", b.name, err)
		}
		original, err := sources(filepath.Join(root, b.in))
		if err != nil {
			return nil, nil, err
		}
		if of, ok := b.variants(original, changed); ok {
			in[b.name] = true
			for path, list := range of {
				bodies[path] = append(bodies[path], list...)
			}
		}
	}
	files = map[string]string{}
	for path, list := range bodies {
		dir := filepath.Dir(path)
		original, err := sources(dir)
		if err != nil {
			return nil, nil, err
		}
		files[path] = laidOver(original[path], list)
		pkg, err := parser.ParseFile(token.NewFileSet(), path, original[path], parser.PackageClauseOnly)
		if err != nil {
			return nil, nil, err
		}
		files[filepath.Join(dir, "planted_bug.go")] = fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar plantedBug = os.Getenv(%q)\n", pkg.Name.Name, variable)
	}
	return files, in, nil
}

// variant is the body of a function as it is with a bug.
type variant struct {
	bug  string
	at   int    // where the function's body begins in its file, behind the brace
	body string // without the braces
	void bool   // whether the function returns nothing, so that its body may end without a return
}

// variants returns the bodies that the bug changes, by path, unless it changes anything else.
func (b bug) variants(original, changed map[string]string) (list map[string][]variant, ok bool) {
	list = map[string][]variant{}
	for path, text := range changed {
		before, after := functions(path, original[path]), functions(path, text)
		if len(before) != len(after) {
			return nil, false
		}
		behind, rest := 0, 0 // where what is compared next begins, in each of the two texts
		for i, f := range before {
			g := after[i]
			if original[path][behind:f.start] != text[rest:g.start] {
				return nil, false
			}
			behind, rest = f.end, g.end
			was, is := original[path][f.start:f.end], text[g.start:g.end]
			if was == is {
				continue
			}
			if f.labels || g.labels {
				return nil, false
			}
			list[path] = append(list[path], variant{b.name, f.start, is, f.void})
		}
		if original[path][behind:] != text[rest:] {
			return nil, false
		}
	}
	return list, true
}

// function is where the body of a function stands in its file, without the braces.
type function struct {
	start, end   int
	void, labels bool
}

// functions returns the functions of a file in the order in which they stand there; nil when it does not parse.
func functions(path, text string) (list []function) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		found := function{
			start: set.Position(f.Body.Lbrace).Offset + 1, end: set.Position(f.Body.Rbrace).Offset,
			void: f.Type.Results == nil,
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			_, label := n.(*ast.LabeledStmt)
			found.labels = found.labels || label
			return true
		})
		list = append(list, found)
	}
	return list
}

// laidOver is the text of a file with the variants in it.
func laidOver(text string, list []variant) string {
	at := map[int]string{}
	for _, v := range list {
		end := "\n}\n"
		if v.void {
			end = "\nreturn\n}\n"
		}
		at[v.at] += fmt.Sprintf("\nif plantedBug == %q {", v.bug) + v.body + end
	}
	var b strings.Builder
	behind := 0
	for _, start := range slices.SortedFunc(maps.Keys(at), cmp.Compare[int]) {
		b.WriteString(text[behind:start] + at[start])
		behind = start
	}
	return b.String() + text[behind:]
}
