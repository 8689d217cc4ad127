package approvals

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// facts that refusals have. An error with one of them and words of its own is a refusal that is none.
var refusalFacts = []string{
	"ErrInvalid", "ErrUnauthorized", "ErrConflict", "ErrStale", "ErrExpired", "ErrLimit", "ErrRetried",
}

// notRefused are errors of whoever sets the program up: nobody in Slack causes them.
var notRefused = []string{"installation_change.go", "service.go", "worker.go", "policy_facts.go"}

var verbs, letters = regexp.MustCompile(`%[a-zA-Z]`), regexp.MustCompile(`\pL`)

// sayers are the functions that take what people read.
var sayers = []string{"refuse", "say", "neverRun", "taken", "drop", "giveUpOpen", "cannot"}

// speakers are the functions that return what people read: who must agree, how a grant stands, what it is for.
var speakers = []string{"Describe", "describe", "words", "name", "exceptions", "inert", "where", "Terms", "unmeetable"}

// strays lists the words for people that a file says by itself: in refusals, notices and notes of records, and in
// functions that describe something.
func strays(fset *token.FileSet, file *ast.File) (found []string) {
	report := func(e ast.Node) {
		ast.Inspect(e, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && strings.Contains(text, " ") && letters.MatchString(verbs.ReplaceAllString(text, "")) {
				found = append(found, fmt.Sprintf("%s: %q", fset.Position(lit.Pos()), text))
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(speakers, n.Name.Name) {
				report(n.Body)
				return false
			}
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if slices.Contains(sayers, name) {
				for _, arg := range n.Args {
					if _, own := arg.(*ast.FuncLit); !own {
						report(arg)
					}
				}
			}
			if name == "Errorf" && slices.ContainsFunc(n.Args, func(e ast.Expr) bool {
				id, ok := e.(*ast.Ident)
				return ok && slices.Contains(refusalFacts, id.Name)
			}) {
				if format, ok := n.Args[0].(*ast.BasicLit); !ok || format.Value != `"%w: %w"` {
					report(n.Args[0])
				}
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); !ok || id.Name != "Notification" && id.Name != "ending" {
				return true
			}
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					report(pair.Value)
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if field, ok := to.(*ast.SelectorExpr); ok && i < len(n.Rhs) &&
					slices.Contains([]string{"Note", "Text", "advice"}, field.Sel.Name) {
					report(n.Rhs[i])
				}
			}
		}
		return true
	})
	return found
}

// TestWordsStandInTheirFiles: what refusals, notices and notes of records say stands in words*.go.
func TestWordsStandInTheirFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "words") ||
			slices.Contains(notRefused, path) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strays(fset, file) {
			t.Errorf("%s: say it in words*.go", line)
		}
	}
}

// TestStraysControl: words are found in each place where people would be told them.
func TestStraysControl(t *testing.T) {
	t.Parallel()
	const source = `package approvals
func f() error {
	c.say(r, fmt.Sprintf("It is %d.", 1))
	r.Note = "It has ended."
	n := &Notification{Kind: NotifyNotice, Text: "was " + who + " asked"}
	_ = fmt.Errorf("read run %s: %w", id, err)
	_ = fmt.Errorf("%w: %w", ErrInvalid, err)
	_ = fmt.Errorf("%w: nobody may", ErrUnauthorized)
	return RuleUses.refuse(ErrInvalid, "", "too many uses")
}
func (q Requirement) Describe() string {
	text := "2 of " + join(q.words())
	return text + shortDuration(q.After)
}
func g() *unmet { u := cannot(in, "", "it failed"); u.advice = "Ask again."; return u }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "planted.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`planted.go:3:23: "It is %d."`, `planted.go:4:11: "It has ended."`, `planted.go:5:47: "was "`,
		`planted.go:5:62: " asked"`, `planted.go:8:17: "%w: nobody may"`, `planted.go:9:41: "too many uses"`,
		`planted.go:12:10: "2 of "`, `planted.go:15:39: "it failed"`, `planted.go:15:64: "Ask again."`,
	}
	if diff := cmp.Diff(want, strays(fset, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
