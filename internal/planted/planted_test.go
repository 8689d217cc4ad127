package main

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryBugFits fails when code that the table names was changed or moved to another package: without this, only
// the run of all bugs would tell.
func TestEveryBugFits(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, b := range bugs {
		if names[b.name] {
			t.Errorf("two bugs named %q", b.name)
		}
		names[b.name] = true
		changed, err := b.changed("../..")
		if err != nil {
			t.Errorf("%s: %v: edit internal/planted/bugs.go", b.name, err)
			continue
		}
		for path, text := range changed {
			if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", b.name, err)
			}
			if original, err := os.ReadFile(path); err != nil || string(original) == text {
				t.Errorf("%s: %s is as it was (%v)", b.name, path, err)
			}
		}
	}
}

// TestEveryGroupHasABug looks for dialogues whose rules nobody has tried to break.
func TestEveryGroupHasABug(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../agent/testdata/dialogues/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dialogues, %v", len(files), err)
	}
	for _, f := range files {
		group := filepath.Base(f)[:1]
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.red == "TestDialogues/"+group }) {
			t.Errorf("no bug for the dialogues of group %s", group)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.go": "if x {\n\t\treturn y\n}\nz()", "b.go": "f(1); f(1); f(.*)"}
	for _, tt := range []struct {
		name, find, path, want string
		err                    error
	}{
		{"white space does not matter", "{ return y }", "a.go", "if x NEW\nz()", nil},
		{"nothing in it is a pattern", "f(.*)", "b.go", "f(1); f(1); NEW", nil},
		{"gone", "return x", "", "", errGone},
		{"a word apart is another", "returny", "", "", errGone},
		{"twice in a file", "f(1)", "", "", errAmbiguous},
		{"in two files", "(", "", "", errAmbiguous},
	} {
		path, text, err := edit{tt.find, "NEW"}.apply(files)
		if path != tt.path || text != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %q, %v", tt.name, path, text, err)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	b := bug{red: "TestDialogues/a"}
	for _, tt := range []struct {
		name, out string
		passed    bool
		want      []string
		err       error
	}{
		{"green", `{"Action":"pass"}`, true, nil, errUnnoticed},
		{"does not compile", `{"Action":"build-fail"} {"Action":"fail"}`, false, nil, errBuild},
		{"exits", `{"Action":"output","Output":"exit status 2"} {"Action":"fail"}`, false, nil, errNoTest},
		{
			"found", `{"Action":"fail","Test":"TestDialogues/a1"} {"Action":"pass","Test":"TestDialogues/b1"}
			{"Action":"fail","Test":"TestDialogues"}`, false, []string{"TestDialogues/a1"}, nil,
		},
		{
			"found by others too",
			`{"Action":"fail","Test":"TestDialogues/a1"} {"Action":"fail","Test":"TestDialogues/b1"}`,
			false, nil, errOthers,
		},
		{"only the parent", `{"Action":"fail","Test":"TestDialogues"}`, false, nil, errOthers},
	} {
		red, err := b.judge([]byte(tt.out), tt.passed)
		if !cmp.Equal(red, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v", tt.name, red, err)
		}
	}
}

// TestTry runs the real thing on a small module: a suite that notices, one that cannot, a bug that does not compile.
func TestTry(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"f.go":      "package m\n\nfunc f() int { return 1 }\nfunc g() int { return 2 }\n",
		"f_test.go": "package m\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { if f() != 1 { t.Fail() } }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		edit edit
		want []string
		err  error
	}{
		{"noticed", edit{"return 1", "return 3"}, []string{"TestF"}, nil},
		{"not noticed", edit{"return 2", "return 3"}, nil, errUnnoticed},
		{"does not compile", edit{"return 1", "return x"}, nil, errBuild},
		{"does not fit", edit{"return 4", "return 1"}, nil, errGone},
	} {
		red, err := bug{edits: []edit{tt.edit}, test: []string{"."}}.try(t.Context(), root)
		if !cmp.Equal(red, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v", tt.name, red, err)
		}
	}
}
