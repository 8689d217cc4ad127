// Command longtests prints the tests that the flag -long makes longer, for the packages in the folders it is given:
// one line each, with the folder and an expression for -run. So the slow run repeats nothing that has run before.
//
//	go run ./internal/longtests approvals bot
//
// A test is one of them when it reads *long itself, or a function that it calls in its package does.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	for _, dir := range os.Args[1:] {
		tests, err := longTests(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "longtests:", err)
			os.Exit(1)
		}
		if len(tests) > 0 {
			fmt.Printf("%s ^(%s)$\n", dir, strings.Join(tests, "|"))
		}
	}
}

// longTests returns the names of those tests of the package in the folder that -long makes longer, in order.
func longTests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	used := map[string]names{} // by function
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			uses := usedIn(fn.Body)
			if fn.Recv != nil {
				if uses[flagName] {
					return nil, fmt.Errorf("%s: the method %s reads -long, and who calls it is not known: "+
						"make it a function", name, fn.Name.Name)
				}
				continue
			}
			used[fn.Name.Name] = uses
		}
	}
	longer := names{flagName: true}
	for again := true; again; {
		again = false
		for fn, uses := range used {
			if !longer[fn] && uses.any(longer) {
				longer[fn], again = true, true
			}
		}
	}
	var tests []string
	for fn := range longer {
		if strings.HasPrefix(fn, "Test") {
			tests = append(tests, fn)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// flagName is what reading the flag counts as.
const flagName = "*long"

// names are those of functions and packages, and flagName.
type names map[string]bool

func (n names) any(of names) bool {
	for name := range n {
		if of[name] {
			return true
		}
	}
	return false
}

// usedIn returns what a body names. Methods are left out: whose they are is not known without types.
func usedIn(body ast.Node) names {
	used := names{}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "long" {
				used[flagName] = true
			}
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.Ident:
			used[n.Name] = true
		}
		return true
	}
	ast.Inspect(body, visit)
	return used
}
