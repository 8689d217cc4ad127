package bot

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notSaid are texts that look like words for people and are none, each with what it is.
var notSaid = map[string]string{
	"click of ": "key of deliveries", "click ": "kind of delivery, for logs", "request ": "key of deliveries",
	"event ": "kind and key of deliveries", "form ": "kind of delivery, for logs", "command ": "key of deliveries",
	"shortcut ": "key of deliveries", "streams ": "what is paced, for logs", "stop ": "what is paced, for logs",
	"thread ": "key of warnings", "answered back:": "key of an answer",
	"asked back:": "key of a question", "look into ": "of an error",
	"look up ":    "of an error",
	"list group ": "of an error", "list members of ": "of an error", "look for %s in %s": "of an error",
	"list user groups": "of an error", "look up channel ": "of an error",
	"the installation in ": "name of a token, for operators",
	"Update the app from manifest.yaml and install it again": "of a log line",
	"Nothing has to be done: they are complete":              "of a log line",
	"application/json; charset=utf-8":                        "a content type",
	"(secret address)":                                       "what a secret prints",

	"runs ": "of an explanation that is read", "program ": "of a fact that is read",
	" sha256:": "of a fact that is read",
	" 0 min":   "of a duration, cut off",

	"history ": "of a command", "history mine": "of a command", "history all": "of a command",
	" after ":   "of a command",
	" after ID": "of a command", "history after ID": "of a command", "show ID": "of a command",

	"POST ": "of HTTP", "GET ": "of HTTP", "Authorization: Bearer ": "of HTTP",
	`{"result": "…"}`: "the body of a callback",

	"<p><a href=\"":                        "HTML",
	"countersign: states of installations": "input of a hash",
}

var (
	formatVerb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
	letter     = regexp.MustCompile(`\pL`)
	oneWord    = regexp.MustCompile(`^\p{Lu}\p{Ll}+[.:,…]?$`)
)

// said lists the texts of a file that read as words for people, with their places.
func said(fset *token.FileSet, file *ast.File) (found []string) {
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || !reads(text, above) {
			return true
		}
		found = append(found, fmt.Sprintf("%s: %q", fset.Position(lit.Pos()), text))
		return true
	})
	return found
}

// reads reports whether a text is for people, as far as it and the nodes above it tell.
func reads(text string, above []ast.Node) bool {
	bare := formatVerb.ReplaceAllString(text, "")
	looks := letter.MatchString(bare) && strings.Contains(bare, " ") || oneWord.MatchString(text)
	shown := false // in what can be nothing else
	for i, n := range above {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag == above[len(above)-1] {
				return false
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Error" && n.Recv != nil {
				return false
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "phrase" && i == len(above)-2 {
				shown = true
			}
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				if f.Name == "panic" {
					return false
				}
				if i == len(above)-2 && slices.Contains([]string{"strong", "plain", "header", "smallPrint"}, f.Name) {
					shown = true
				}
			case *ast.SelectorExpr:
				if ofOperators(f) {
					return false
				}
			}
		}
	}
	return looks || shown && letter.MatchString(bare)
}

// ofOperators reports whether a function takes texts for logs and errors, or names of headers.
func ofOperators(f *ast.SelectorExpr) bool {
	switch f.Sel.Name {
	case "Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "LogAttrs":
		return true
	case "Get", "Set", "Add":
		return true
	}
	pkg, _ := f.X.(*ast.Ident)
	return pkg != nil && (pkg.Name == "errors" || pkg.Name == "fmt" && f.Sel.Name == "Errorf" || pkg.Name == "regexp")
}

// TestWordsStandInTheirFiles: whatever people read stands in words*.go. What is found elsewhere and is for nobody to
// read stands in notSaid, and nothing else does.
func TestWordsStandInTheirFiles(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, path := range sources(t) {
		if strings.HasPrefix(path, "words") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range said(fset, file) {
			_, quoted, _ := strings.Cut(line, ": ")
			text, _ := strconv.Unquote(quoted)
			if notSaid[text] == "" && !strings.HasPrefix(text, "<!doctype html>") {
				t.Errorf("%s: say it in words*.go, or if nobody reads it, add it to notSaid", line)
			}
			used[text] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(notSaid)) {
		if !used[text] {
			t.Errorf("%q is in notSaid, and in no file", text)
		}
	}
}

// TestSaidControl: words are found wherever they are planted, and logs, errors and the like are no words.
func TestSaidControl(t *testing.T) {
	t.Parallel()
	const source = `package bot
import "a b"
type s struct { A string ` + "`json:\"a b\"`" + ` }
var lone = "Approve"
const lower, id = "approve", "req_1"
func (e *s) Error() string { return "is an error" }
func f() phrase {
	log.Warn("a log line", "key of it", "Error")
	_ = fmt.Errorf("wrap %s: %w", "it all", errors.New("no words"))
	if x == nil { panic(fmt.Sprintf("should not %v", x)) }
	h.Set("Authorization", "x")
	_ = fmt.Sprintf("%d. %s · %s", 1, "", "")
	p := phrase{"asked", who, " by ", strong("now"), code("x")}
	p = append(p, fmt.Sprintf("; %d more", 3))
	return tell(map[string]string{"a": "Please write something."})
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "planted.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`planted.go:4:12: "Approve"`, `planted.go:13:14: "asked"`, `planted.go:13:28: " by "`,
		`planted.go:13:43: "now"`,
		`planted.go:14:28: "; %d more"`, `planted.go:15:37: "Please write something."`,
	}
	if diff := cmp.Diff(want, said(fset, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// wordsMayCall are the functions that words may be made with.
var wordsMayCall = []string{"append", "code", "strong", "clock", "label", "string", "len", "Sprintf", "IsZero"}

// logic lists what the words of a file do beside saying something: names that do not say that they are words,
// parameters that have to be looked into, loops, and calls of functions that are no words.
func logic(fset *token.FileSet, file *ast.File) (found []string) {
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), what))
	}
	named := func(id *ast.Ident) {
		if !strings.HasPrefix(id.Name, "words") {
			report(id, id.Name+" does not begin with words")
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					named(v.Names[0])
				}
			}
		case *ast.FuncDecl:
			named(d.Name)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StarExpr, *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
					report(n, "more than words")
				case *ast.CallExpr:
					name := ""
					switch f := n.Fun.(type) {
					case *ast.Ident:
						name = f.Name
					case *ast.SelectorExpr:
						name = f.Sel.Name
					}
					if !strings.HasPrefix(name, "words") && !slices.Contains(wordsMayCall, name) {
						report(n, "a call of "+name)
					}
				}
				return true
			})
		}
	}
	return found
}

// TestWordsOnlySay: words are constants, and functions of plain values that know plurals and absent parts.
func TestWordsOnlySay(t *testing.T) {
	t.Parallel()
	for _, path := range sources(t) {
		if !strings.HasPrefix(path, "words") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range logic(fset, file) {
			t.Error(line)
		}
	}
}

// TestLogicControl: each thing that words must not do is found.
func TestLogicControl(t *testing.T) {
	t.Parallel()
	const source = `package bot
const wordsGood = "Good."
var bad = "Bad."
func wordsFor(r *approvals.Request) phrase {
	for range 3 { wordsTwice() }
	return append(phrase{fmt.Sprintf("%d", 1), code("x")}, persons(nil)...)
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "words_planted.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"words_planted.go:3:5: bad does not begin with words", "words_planted.go:4:17: more than words",
		"words_planted.go:5:2: more than words", "words_planted.go:6:57: a call of persons",
	}
	if diff := cmp.Diff(want, logic(fset, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sources are the files of the package that are no tests.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	all, err := filepath.Glob("*.go")
	if err != nil || len(all) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil || strings.HasSuffix(path, "_test.go")
	})
}
