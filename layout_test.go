package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "countersign"

// arrows lists, for each package or tree of packages (a trailing "/..."), what of this module it may import. A package
// is judged by the first entry that matches it. Tests are judged with testArrows added.
var arrows = []struct {
	pkg string
	may []string
}{
	{"countersign", []string{"internal/app/cli", "internal/procsecret", "agent"}},
	{"agent", []string{"agent/internal/...", "agent/guardrail", "agent/toolstatus", "agent/trace"}},
	{"agent/internal/...", []string{"agent/internal/strictjson", "agent/internal/oneline"}},
	{"agent/scripted", []string{"agent"}},
	{"agent/httptool", []string{"agent", "agent/toolstatus", "agent/internal/jsonschema", "agent/internal/oneline",
		"agent/internal/plainhttp", "agent/internal/redact", "agent/internal/location"}},
	{"agent/rawtool", []string{"agent", "agent/internal/jsonschema", "agent/internal/strictjson"}},
	{"agent/mcptoolset", []string{"agent", "agent/toolstatus", "agent/internal/jsonschema", "agent/internal/oneline",
		"agent/internal/strictjson", "agent/internal/plainhttp", "agent/internal/procgroup", "agent/internal/redact",
		"agent/internal/location"}},
	{"agent/shelltool", []string{"agent", "agent/toolstatus", "agent/internal/procgroup", "agent/internal/redact",
		"agent/internal/location"}},
	{"agent/patchtool", []string{"agent", "agent/toolstatus", "agent/internal/location"}},
	{"agent/asktool", []string{"agent"}},
	{"agent/openaimodel", []string{"agent", "agent/trace", "agent/internal/plainhttp", "agent/internal/redact",
		"agent/internal/strictjson"}},
	{"agent/guardrail", nil},
	{"agent/toolstatus", nil},
	{"agent/trace", nil},
	{"agent/oteltrace", []string{"agent", "agent/trace"}},
	{"agent/...", []string{"agent"}},
	{"approvals", []string{"agent", "agent/asktool", "agent/history", "agent/toolstatus", "agent/trace",
		"internal/fault"}},
	{"approvals/celpolicy", []string{"approvals", "agent", "agent/guardrail"}},
	{"store", []string{"approvals", "store/boltstore", "store/pgstore", "store/seal", "store/transfer"}},
	{"store/storetest", []string{"approvals", "agent", "store/transfer", "internal/rapidtest"}},
	{"store/transfer", []string{"approvals", "agent", "internal/fault"}},
	{"store/seal", nil},
	{"store/...", []string{"approvals", "agent", "internal/fault", "internal/gopool", "store/seal", "store/transfer"}},
	{"bot", []string{"agent/trace", "approvals", "agent", "internal/fault", "internal/gopool", "internal/visible",
		"internal/humanize"}},
	{"internal/fault", nil},
	{"internal/invariant", []string{"approvals", "agent"}},
	{"internal/simulation", []string{"bot"}},
	{"internal/faultfs", nil},
	{"internal/filepages", nil},
	{"internal/headroom", nil},
	{"internal/gopool", nil},
	{"internal/planted", nil},
	{"internal/longtests", nil},
	{"internal/raceflag", nil},
	{"internal/rapidtest", nil},
	{"internal/pgdev", nil},
	{"internal/procsecret", nil},
	{"internal/slackdev/...", nil},
	{"internal/openaidev/...", nil},
	{"examples", nil},
	{"internal/visible/...", nil},
	{"internal/humanize", nil},
	{"internal/agentsfile", []string{"agent", "agent/guardrail", "agent/rawtool"}},
	{"internal/catalog", []string{"internal/agentsfile", "approvals", "approvals/celpolicy", "agent",
		"agent/history", "agent/openaimodel", "agent/mcptoolset", "agent/shelltool", "agent/patchtool",
		"agent/httptool", "agent/rawtool", "agent/asktool", "agent/guardrail"}},
	{"internal/policycheck", []string{"internal/agentsfile", "internal/catalog", "internal/humanize", "approvals",
		"agent"}},
	{"internal/lineage", nil},
	{"internal/report/markup", []string{"internal/visible"}},
	{"internal/report", []string{"internal/report/markup", "internal/visible", "approvals", "agent"}},
	{"internal/control", []string{"approvals", "store", "store/seal", "internal/lineage", "internal/report"}},
	{"internal/traces", []string{"agent/oteltrace", "agent/trace"}},
	{"internal/botprocess", nil},
	{"internal/demo", []string{"examples", "internal/botprocess", "internal/slackdev", "internal/openaidev",
		"agent/scripted"}},
	{"internal/testfile", []string{"internal/agentsfile"}},
	{"internal/testrun", []string{"internal/testfile", "internal/agentsfile", "internal/botprocess", "internal/control",
		"internal/slackdev", "internal/openaidev", "internal/visible", "approvals", "agent/rawtool"}},
	{"internal/app", []string{"internal/agentsfile", "internal/catalog", "internal/control", "internal/filepages",
		"internal/headroom", "internal/lineage", "internal/policycheck", "internal/traces", "bot", "store",
		"store/boltstore", "store/seal", "approvals", "agent", "agent/openaimodel", "agent/rawtool", "agent/trace"}},
	{"internal/app/cli", []string{"internal/app", "internal/agentsfile", "internal/catalog", "internal/control",
		"internal/demo", "internal/testfile", "internal/testrun", "internal/lineage", "internal/policycheck",
		"internal/report", "internal/visible", "internal/humanize", "bot", "store", "store/transfer", "approvals",
		"agent"}},
	{"bench/...", []string{"..."}},
}

// testArrows is what the tests of every package may import on top.
var testArrows = []string{"internal/visible/visibletest", "internal/slackdev",
	"internal/openaidev", "agent", "agent/guardrail", "agent/history", "agent/trace", "agent/rawtool",
	"agent/scripted", "agent/oteltrace", "agent/asktool", "agent/shelltool", "agent/patchtool", "agent/toolstatus",
	"store", "store/storetest", "store/boltstore", "store/pgstore", "internal/pgdev", "approvals", "internal/fault",
	"internal/invariant", "internal/faultfs", "internal/raceflag", "internal/rapidtest"}

// stdlibOnly lists the packages that import nothing but the standard library and themselves.
var stdlibOnly = []string{"agent", "agent/internal/strictjson", "agent/internal/oneline", "agent/internal/redact",
	"agent/scripted", "agent/guardrail", "agent/history", "agent/toolstatus", "agent/trace", "internal/fault",
	"internal/openaidev", "store/seal"}

type listed struct {
	ImportPath                         string
	Standard                           bool
	Imports, TestImports, XTestImports []string
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	args = append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, args...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// short returns the path inside the module and whether it is one.
func short(path string) (string, bool) {
	if path == module {
		return module, true
	}
	return strings.CutPrefix(path, module+"/")
}

func matches(pattern, pkg string) bool {
	tree, ok := strings.CutSuffix(pattern, "...")
	if !ok {
		return pattern == pkg
	}
	tree = strings.TrimSuffix(tree, "/")
	return tree == "" || pkg == tree || strings.HasPrefix(pkg, tree+"/")
}

// allowed reports whether pkg may import dep, and whether pkg has an entry at all.
func allowed(pkg, dep string, test bool) (may, known bool) {
	for _, a := range arrows {
		if !matches(a.pkg, pkg) {
			continue
		}
		list := a.may
		if test {
			list = slices.Concat(list, testArrows)
		}
		return dep == pkg || slices.ContainsFunc(list, func(p string) bool { return matches(p, dep) }), true
	}
	return false, false
}

// TestLayout keeps the arrows between the rooms: what is not listed above does not exist.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "./...") {
		pkg, _ := short(p.ImportPath)
		check := func(imports []string, test bool) {
			for _, path := range imports {
				dep, ours := short(path)
				if !ours {
					continue
				}
				may, known := allowed(pkg, dep, test)
				switch {
				case !known:
					t.Errorf("%s has no place in the layout; give it an entry in arrows", pkg)
				case !may:
					t.Errorf("%s imports %s (test: %v), which the layout does not allow", pkg, dep, test)
				}
			}
		}
		check(p.Imports, false)
		check(p.TestImports, true)
		check(p.XTestImports, true)
	}
}

// TestLayoutControl proves that the rules can say no.
func TestLayoutControl(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pkg, dep string }{
		{"agent", "approvals"}, {"approvals", "bot"}, {"approvals", "store/boltstore"}, {"bot", "store/boltstore"},
		{"store/boltstore", "bot"}, {"agent/openaimodel", "approvals"}, {"internal/slackdev", "bot"},
		{"countersign", "bot"}, {"internal/visible", "bot"}, {"internal/control", "bot"}, {"internal/catalog", "bot"},
		{"internal/app", "internal/app/cli"}, {"internal/policycheck", "internal/control"},
		{"internal/lineage", "internal/control"}, {"internal/report", "internal/control"},
		{"internal/report", "store"},
	} {
		if may, _ := allowed(c.pkg, c.dep, false); may {
			t.Errorf("%s may import %s", c.pkg, c.dep)
		}
	}
}

// maxSurface bounds what a reader of package agent has to take in: lines of "go doc -short". What only some programs
// need belongs into a package beside it.
const maxSurface = 82

// TestSurface keeps the runtime's exported names few.
func TestSurface(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "doc", "-short", "./agent").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("\n")); n == 0 || n > maxSurface {
		t.Errorf("go doc -short ./agent has %d lines, at most %d are allowed:\n%s", n, maxSurface, out)
	}
}

// TestStdlibOnly keeps the runtime's core free of dependencies.
func TestStdlibOnly(t *testing.T) {
	t.Parallel()
	for _, pkg := range stdlibOnly {
		for _, dep := range list(t, "-deps", "./"+pkg) {
			if _, ours := short(dep.ImportPath); !dep.Standard && !ours {
				t.Errorf("%s depends on %s", pkg, dep.ImportPath)
			}
		}
	}
}

// TestNoTestCodeInBinary keeps fakes' and tests' dependencies out of what people run.
func TestNoTestCodeInBinary(t *testing.T) {
	t.Parallel()
	for _, dep := range list(t, "-deps", ".") {
		for _, banned := range []string{"testing", "pgregory.net/rapid", "github.com/google/go-cmp",
			"github.com/chromedp", "github.com/anishathalye", "github.com/hanwen", module + "/store/storetest",
			module + "/internal/invariant", module + "/internal/rapidtest"} {
			if dep.ImportPath == banned || strings.HasPrefix(dep.ImportPath, banned+"/") && banned != "testing" {
				t.Errorf("the program links %s", dep.ImportPath)
			}
		}
	}
}

// heavy are packages that are not worth what they add to the program: nearly half of its size and a fifth of its memory
// (docs/adr/0001-dependencies.md).
var heavy = map[string]string{
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": "it brings gRPC, a third of the program's size",

	"text/template": "it calls methods by name, so the linker keeps every exported method of " +
		"every type",
	"html/template": "it calls methods by name, so the linker keeps every exported method of " +
		"every type",
	"github.com/openai/openai-go/v3": "it has clients for everything; its package responses has what we need",
}

// TestNothingHeavy keeps the program small. Tests and benchmarks may use what they like.
func TestNothingHeavy(t *testing.T) {
	t.Parallel()
	seen := false
	for _, p := range list(t, "-deps", ".") {
		_, ours := short(p.ImportPath)
		for _, path := range p.Imports {
			seen = seen || path == "github.com/openai/openai-go/v3/responses"
			if why, ok := heavy[path]; ok && ours {
				t.Errorf("%s imports %s: %s", p.ImportPath, path, why)
			}
		}
	}
	if !seen {
		t.Error("control: the imports were not looked at")
	}
}

// maxColumns is how wide a line of Go may be. A tab counts as four columns.
const maxColumns = 120

// wideFiles lists the files with lines that have to stay as they are, and why.
var wideFiles = map[string]string{
	"agent/example_fields_test.go": "the output of an example stands as it is printed",
	"agent/example_hosted_test.go": "the output of an example stands as it is printed",
	"agent/newtool_test.go":        "the schema of a tool is compared byte for byte, and stands as it is sent",
	"internal/demo/library.go":     "a struct tag is one literal and cannot be broken",
}

// tooWide returns the numbers, from 1, of the lines that are wider than maxColumns.
func tooWide(source string) (lines []int) {
	number := 0
	for line := range strings.Lines(source) {
		number++
		columns := 0
		for _, r := range strings.TrimRight(line, "\r\n") {
			if r == '\t' {
				columns += 4 - columns%4
			} else {
				columns++
			}
		}
		if columns > maxColumns {
			lines = append(lines, number)
		}
	}
	return lines
}

// TestLines keeps lines short enough for two files beside each other.
func TestLines(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name()[0] == '.' || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(root, name)
		for _, line := range tooWide(string(source)) {
			found[name] = true
			if wideFiles[name] == "" {
				t.Errorf("%s:%d is wider than %d columns", name, line, maxColumns)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range wideFiles {
		if !found[name] {
			t.Errorf("%s has no wide line: take it off the list", name)
		}
	}
}

// TestNoSymbolicLinks: what one leads to is not in a clone, or is there twice.
func TestNoSymbolicLinks(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Type()&fs.ModeSymlink != 0:
			t.Errorf("%s is a symbolic link", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinesControl counts tabs as four columns and characters, not bytes, and lets maxColumns pass.
func TestLinesControl(t *testing.T) {
	t.Parallel()
	source := strings.Join([]string{
		strings.Repeat("x", maxColumns), strings.Repeat("x", maxColumns+1),
		"\t" + strings.Repeat("x", maxColumns-4), "\t" + strings.Repeat("x", maxColumns-3),
		strings.Repeat("ü", maxColumns), "ab\t" + strings.Repeat("ü", maxColumns-3),
	}, "\n")
	if got, want := tooWide(source), []int{2, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("lines %v are too wide, want %v", got, want)
	}
}
