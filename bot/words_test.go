package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// family are the files of words, in the order in which docs/words.md lists them.
var family = []string{
	"words.go", "words_pending.go", "words_buttons.go", "words_approvers.go", "words_call.go", "words_settled.go",
	"words_forms.go", "words_always.go", "words_refusals.go", "words_notices.go", "words_stream.go", "words_lists.go",
	"words_waits.go",
	"words_home.go", "words_commands.go", "words_install.go",
}

// service are the files of words of package approvals, which follow.
var service = []string{
	"words.go", "words_refusals.go", "words_terms.go", "words_notices.go", "words_unmet.go", "words_trigger.go",
	"words_notes.go", "words_outputs.go", "words_expired.go", "words_agree.go",
	"words_grants.go",
}

// wordsList lists words: what each function and constant of a file says, with "…" for what differs.
type wordsList struct {
	constants map[string]string
	lines     []string
}

func parseWords(t *testing.T, path string, source any) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// learn notes what the constants of a file say: other words name them.
func (l *wordsList) learn(file *ast.File) {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				l.constants[v.Names[0].Name] = l.text(v.Values[0])
			}
		}
	}
}

func (l *wordsList) add(name, text string) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	for strings.Contains(text, "……") {
		text = strings.ReplaceAll(text, "……", "…")
	}
	line := "- `" + strings.TrimPrefix(name, "words") + "`: " + text
	if letter.MatchString(text) && !slices.Contains(l.lines, line) {
		l.lines = append(l.lines, line)
	}
}

// file adds everything that a file says.
func (l *wordsList) file(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				if table, ok := v.Values[0].(*ast.CompositeLit); ok {
					for _, e := range table.Elts {
						l.add(v.Names[0].Name, l.text(e))
					}
					continue
				}
				l.add(v.Names[0].Name, l.text(v.Values[0]))
			}
		case *ast.FuncDecl:
			ast.Inspect(d.Body, func(n ast.Node) bool {
				var said ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					said = n.Rhs[0]
				case *ast.ReturnStmt:
					said = n.Results[0]
				case *ast.ValueSpec:
					if n.Values != nil {
						said = n.Values[0]
					}
				default:
					return true
				}
				l.add(d.Name.Name, l.text(said))
				return false
			})
		}
	}
}

// all is what a row of expressions says.
func (l *wordsList) all(row []ast.Expr) string {
	text := ""
	for _, e := range row {
		text += l.text(e)
	}
	return text
}

func (l *wordsList) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return "…"
		}
		return formatVerb.ReplaceAllString(text, "…")
	case *ast.BinaryExpr:
		return l.text(e.X) + l.text(e.Y)
	case *ast.KeyValueExpr:
		return l.text(e.Value)
	case *ast.CompositeLit:
		if id, ok := e.Type.(*ast.Ident); ok && id.Name == "phrase" {
			return l.all(e.Elts)
		}
		each := make([]string, len(e.Elts)) // texts that stand apart
		for i, one := range e.Elts {
			each[i] = l.text(one)
		}
		return strings.Join(each, " / ")
	case *ast.Ident:
		switch said, ok := l.constants[e.Name]; {
		case ok:
			return said
		case e.Name == "slashCommand":
			return slashCommand
		case e.Name == "nil" || e.Name == "p": // what was said before
			return ""
		}
	case *ast.CallExpr:
		f, _ := e.Fun.(*ast.Ident)
		switch {
		case f == nil && len(e.Args) > 0: // fmt.Sprintf
			return l.text(e.Args[0])
		case f != nil && slices.Contains([]string{"append", "code", "strong"}, f.Name):
			return l.all(e.Args)
		}
	}
	return "…"
}

// headOf is the comment at the head of a file, on one line.
func headOf(t *testing.T, path string, file *ast.File) string {
	t.Helper()
	for _, c := range file.Comments {
		if c.Pos() > file.Name.End() {
			return strings.Join(strings.Fields(c.Text()), " ")
		}
	}
	t.Fatalf("%s does not say what it is", path)
	return ""
}

// familyPage is the list of all words as docs/words.md has it.
func familyPage(t *testing.T) string {
	t.Helper()
	files := map[string]*ast.File{}
	all := slices.Clone(family)
	for _, path := range service {
		all = append(all, "../approvals/"+path)
	}
	l := wordsList{constants: map[string]string{}}
	for range 2 { // constants are made of others
		for _, path := range all {
			files[path] = parseWords(t, path, nil)
			l.learn(files[path])
		}
	}
	var b strings.Builder
	for _, path := range all {
		l.lines = nil
		l.file(files[path])
		b.WriteString("\n## " + strings.TrimPrefix(path, "../") + "\n\n" + headOf(t, path, files[path]) + "\n\n")
		b.WriteString(strings.Join(l.lines, "\n") + "\n")
	}
	return b.String()
}

// TestWordsAreListed: docs/words.md has everything that words*.go say, and nothing else.
func TestWordsAreListed(t *testing.T) {
	t.Parallel()
	for dir, files := range map[string][]string{".": family, "../approvals": service} {
		there, err := fs.Glob(os.DirFS(dir), "words*.go")
		there = slices.DeleteFunc(there, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
		if listed := slices.Sorted(slices.Values(files)); err != nil || !slices.Equal(there, listed) {
			t.Fatalf("the list has %q, and in %s there are %q (%v)", listed, dir, there, err)
		}
	}
	const page, begin, end = "../docs/words.md", "<!-- sentences -->\n", "\n<!-- /sentences -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	listed, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no list of sentences", page)
	}
	want := familyPage(t)
	if *updateGolden {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("%s (-words*.go +page), run with -update if that is meant:\n%s", page, diff)
	}
}

// TestSentencesControl: the reader finds words in each of the forms they are written in.
func TestSentencesControl(t *testing.T) {
	t.Parallel()
	const source = `package bot
const wordsOne = "The first one."
var wordsTable = map[kind]string{one: "first", two: "second"}
func wordsTwo(n int) phrase { return phrase{fmt.Sprintf("%d of them ", n), code(slashCommand + " all"), wordsOne} }
func wordsThree() string { return "Two " + "halves." }
func wordsFour(p phrase) phrase { p = append(p, " And more: ", code(x)); return p }
func wordsFive(n int) string {
	const lead = "Led by. "
	if n == 1 { return lead }
	said := "Some"
	return said + who
}
`
	want := []string{
		"- `One`: The first one.", "- `Table`: first", "- `Table`: second",
		"- `Two`: … of them /approvals allThe first one.",
		"- `Three`: Two halves.", "- `Four`: And more: …", "- `Five`: Led by.", "- `Five`: Some",
	}
	l := wordsList{constants: map[string]string{}}
	file := parseWords(t, "words_planted.go", source)
	l.learn(file)
	l.file(file)
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
