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

// TestTry runs the real thing on a small module: a suite that notices, one that cannot, bugs that do not compile, and
// those that can be there together with others and those that cannot.
func TestTry(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"f.go": `package m

const sum = 3

func f() int { return 1 }
func g() int { return 2 }

// h is the sum of them.
func h() (n int) {
	add(&n, f()) // a comment
	add(&n, g())
	return n
}

func add(to *int, n int) {
	*to += n
}

func first(list []int) int {
search:
	for _, n := range list {
		if n > 0 {
			break search
		}
	}
	return list[0]
}
`,
		"f_test.go": `package m

import "testing"

func TestF(t *testing.T) { if f() != 1 { t.Fail() } }
func TestH(t *testing.T) { if h() != sum { t.Fail() } }
func TestAdd(t *testing.T) { n := 1; if add(&n, 2); n != 3 { t.Fail() } }
func TestFirst(t *testing.T) { if first([]int{1, 2}) != 1 { t.Fail() } }
`,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edits := func(texts ...string) (all []edit) {
		for pair := range slices.Chunk(texts, 2) {
			all = append(all, edit{pair[0], pair[1]})
		}
		return all
	}
	tests := []struct {
		name     string
		edits    []edit
		test     string
		want     []string
		err      error
		together bool
	}{
		{"noticed", edits("return 1", "return 3"), "^TestF", []string{"TestF"}, nil, true},
		{"not noticed", edits("return 2", "return 3"), "TestF", nil, errUnnoticed, true},
		{"two places", edits("f() int { return 1", "f() int { return 2", "g() int { return 2", "g() int { return 1"),
			"TestF$|TestH", []string{"TestF"}, nil, true},
		{"a comment at its end", edits("+= n", "-= n // not at all"), "TestAdd", []string{"TestAdd"}, nil, true},
		{"nothing is left of it", edits("{ *to += n }", "{}"), "TestAdd", []string{"TestAdd"}, nil, true},
		{"a constant", edits("sum = 3", "sum = 4"), "TestH", []string{"TestH"}, nil, false},
		{"a label", edits("list[0]", "list[1]"), "TestFirst", []string{"TestFirst"}, nil, false},
		{"what it returns", edits("func g() int { return 2 }", "func g() int8 { return 2 }"), "TestF", nil, errBuild,
			false},
	}
	var all []bug
	for _, tt := range tests {
		all = append(all, bug{name: tt.name, edits: tt.edits, test: []string{".", "-run", tt.test}, red: "Test"})
	}
	s, err := share(t.Context(), root, t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		if s.in[tt.name] != tt.together {
			t.Errorf("%s: with the others: %v, want %v", tt.name, s.in[tt.name], tt.together)
		}
		red, err := s.try(t.Context(), all[i])
		if !cmp.Equal(red, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v", tt.name, red, err)
		}
	}
	for name, tt := range map[string]struct {
		edit edit
		err  error
	}{
		"does not compile": {edit{"return 1", "return x"}, errBuild},
		"does not fit":     {edit{"return 4", "return 1"}, errGone},
	} {
		b := bug{name: name, edits: []edit{tt.edit}, test: []string{"."}}
		if _, err := share(t.Context(), root, t.TempDir(), []bug{b}); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
