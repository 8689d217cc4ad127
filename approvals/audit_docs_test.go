package approvals_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestAuditIsDocumented finds every action, and every name that an action's data can have, in docs/audit.md.
func TestAuditIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "### Actions")
	if table, _, _ = strings.Cut(table, "\n## "); !found {
		t.Fatal("the page has no table of actions")
	}
	actions, names := auditWords(t)
	if len(actions) < 30 || len(names) < 30 {
		t.Fatalf("control: %d actions and %d names", len(actions), len(names))
	}
	for _, word := range append(actions, names...) {
		if !strings.Contains(table, "`"+word+"`") {
			t.Errorf("%s is not documented", word)
		}
	}
}

// auditWords reads the actions from audit.go, and the names of data from the tags in audit_data.go.
func auditWords(t *testing.T) (actions, names []string) {
	t.Helper()
	each := func(file string, look func(ast.Node)) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool { look(n); return true })
	}
	each("audit.go", func(n ast.Node) {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return
		}
		if kind, _ := v.Type.(*ast.Ident); kind != nil && kind.Name == "AuditAction" {
			word, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			actions = append(actions, word)
		}
	})
	each("audit_data.go", func(n ast.Node) {
		s, ok := n.(*ast.TypeSpec)
		if !ok || s.Name.Name != "auditData" {
			return
		}
		for _, f := range s.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			names = append(names, name)
		}
	})
	return actions, names
}
