package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sentences reads words.go: what each function and constant says, with "…" for what differs.
func sentences(t *testing.T, source any) (lines []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "words.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name, text string) {
		text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
		if strings.Contains(text, " ") {
			lines = append(lines, "- `"+name+"`: "+strings.ReplaceAll(text, "……", "…"))
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					add(v.Names[0].Name, textIn(v.Values[0]))
				}
			}
		case *ast.FuncDecl:
			ast.Inspect(d.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					add(d.Name.Name, textIn(n))
					return false
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "append" {
						add(d.Name.Name, textIn(n))
						return false
					}
				case *ast.ReturnStmt:
					if len(n.Results) == 1 {
						add(d.Name.Name, textIn(n.Results[0]))
						return false
					}
				}
				return true
			})
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// wordsOf is what an expression says.
func wordsOf(all []ast.Expr) string {
	text := ""
	for _, e := range all {
		text += textIn(e)
	}
	return text
}

func textIn(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return "…"
		}
		for _, verb := range []string{"%d", "%s"} {
			text = strings.ReplaceAll(text, verb, "…")
		}
		return text
	case *ast.BinaryExpr:
		return textIn(e.X) + textIn(e.Y)
	case *ast.CompositeLit:
		return wordsOf(e.Elts)
	case *ast.Ident:
		switch e.Name {
		case "slashCommand":
			return slashCommand
		case "nil", "p":
			return ""
		}
	case *ast.CallExpr:
		f, _ := e.Fun.(*ast.Ident)
		switch {
		case f == nil && len(e.Args) > 0: // fmt.Sprintf
			return textIn(e.Args[0])
		case f != nil && slices.Contains([]string{"append", "code", "strong"}, f.Name):
			return wordsOf(e.Args)
		}
	}
	return "…"
}

// TestWordsAreListed: docs/words.md has every sentence of words.go, and no other.
func TestWordsAreListed(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../docs/words.md", "<!-- sentences -->\n", "<!-- /sentences -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	listed, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no list of sentences", page)
	}
	want := strings.Join(sentences(t, nil), "\n") + "\n"
	if *updateGolden {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("%s (-words.go +page), run with -update if that is meant:\n%s", page, diff)
	}
}

// TestSentencesControl: the reader finds sentences in each of the forms they are written in.
func TestSentencesControl(t *testing.T) {
	t.Parallel()
	const source = `package bot
const one = "The first one."
func two(n int) phrase { return phrase{fmt.Sprintf("%d of them ", n), code(slashCommand + " all"), " lists."} }
func three() string { return "Two " + "halves." }
func four(p phrase) phrase { p = append(p, " And more: ", code(x)); return p }
`
	want := []string{
		"- `four`: And more: …", "- `one`: The first one.", "- `three`: Two halves.",
		"- `two`: … of them /approvals all lists.",
	}
	if diff := cmp.Diff(want, sentences(t, source)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
