package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declaredTest = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	namedTest    = regexp.MustCompile(`\bTest[A-Z]\w*`)
	// inPackage is a list of tests with the package they are in, as the pages write it: `TestA`, `TestB` (bot).
	inPackage = regexp.MustCompile(
		"(`Test\\w+`(?: \\*long\\*)?(?:, | and |: )?(?:`[a-o](?:\\d\\d)?_\\w+`,? ?)*)+ ?\\(([\\w/]+)\\)")
	dialogue = regexp.MustCompile("`([a-o](?:\\d\\d)?_[a-z0-9_]+)`")
)

// tests are the directories in which each test of the module is declared, below the root.
type tests map[string][]string

func allTests(t *testing.T) tests {
	t.Helper()
	all := tests{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name()[0] == '.' || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(name)
		for _, m := range declaredTest.FindAllStringSubmatch(string(source), -1) {
			all[m[1]] = append(all[m[1]], path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// isPackage reports whether the name, the end of a path, is that of a package with tests.
func (all tests) isPackage(name string) bool {
	for _, dirs := range all {
		if slices.ContainsFunc(dirs, func(dir string) bool { return endsWith(dir, name) }) {
			return true
		}
	}
	return false
}

func endsWith(dir, name string) bool { return dir == name || strings.HasSuffix(dir, "/"+name) }

// unproved returns what a page names and the module does not have: tests, tests in the package where they are said to
// be, and dialogues.
func (all tests) unproved(page string) (problems []string) {
	for _, name := range namedTest.FindAllString(page, -1) {
		if all[name] == nil {
			problems = append(problems, "no test is called "+name)
		}
	}
	for _, m := range inPackage.FindAllStringSubmatch(page, -1) {
		for _, name := range namedTest.FindAllString(m[0], -1) {
			in := func(dir string) bool { return endsWith(dir, m[2]) }
			if all[name] != nil && all.isPackage(m[2]) && !slices.ContainsFunc(all[name], in) {
				problems = append(problems, fmt.Sprintf("%s is in %s, not in %s", name, all[name], m[2]))
			}
		}
	}
	for _, m := range dialogue.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("agent", "testdata", "dialogues", m[1]+".txtar")); err != nil {
			problems = append(problems, "no dialogue is called "+m[1])
		}
	}
	return problems
}

// pages returns the pages that name tests.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatal("no pages", err)
	}
	all := map[string]string{}
	for _, name := range append(names, "SECURITY.md", "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(name)] = string(text)
	}
	return all
}

// TestPagesNameTests finds every test that a page calls a proof.
func TestPagesNameTests(t *testing.T) {
	t.Parallel()
	all := allTests(t)
	for name, text := range pages(t) {
		for _, problem := range all.unproved(text) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// TestPagesNameTestsControl proves that TestPagesNameTests can fail, in each of its ways.
func TestPagesNameTestsControl(t *testing.T) {
	t.Parallel()
	all := tests{"TestA": {"bot"}, "TestB": {"internal/app"}, "TestDialogues": {"agent"}}
	for page, want := range map[string]string{
		"`TestA` (bot), `TestB` (app)":                       "",
		"`TestA`, `TestB` *long* (internal/app)":             "TestA is in [bot], not in internal/app",
		"`TestMadeUp` (bot)":                                 "no test is called TestMadeUp",
		"TestA and TestMadeUp":                               "no test is called TestMadeUp",
		"`TestA` (below)":                                    "",
		"`TestB` (bot)":                                      "TestB is in [internal/app], not in bot",
		"`TestDialogues`: `h20_input_once` (agent)":          "",
		"`TestDialogues`: `h20_input_never_there` (agent)":   "no dialogue is called h20_input_never_there",
		"`TestDialogues`: `h20_input_once` (bot)":            "TestDialogues is in [agent], not in bot",
		"Tests, testing, and a `needs_approval` beside them": "",
	} {
		if got := strings.Join(all.unproved(page), "; "); got != want {
			t.Errorf("%q: got %q, want %q", page, got, want)
		}
	}
	real := allTests(t)
	if len(real) < 500 || real["TestPagesNameTests"] == nil || real["TestMadeUp"] != nil {
		t.Errorf("%d tests were found", len(real))
	}
	named := 0
	for _, text := range pages(t) {
		named += len(namedTest.FindAllString(text, -1))
	}
	if named < 100 {
		t.Errorf("the pages name %d tests: they were not read", named)
	}
}

var localLink = regexp.MustCompile(`\]\(([^)\s:]+)\)`)

// deadLinks returns the links of a page, which stands in a folder of the module, to files and headings that there are
// not.
func deadLinks(folder, page string) (dead []string) {
	for _, m := range localLink.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		name, anchor, _ := strings.Cut(m[1], "#")
		text := page
		if name != "" {
			file := filepath.Join(folder, filepath.FromSlash(name))
			if _, err := os.Stat(file); err != nil {
				dead = append(dead, m[1])
				continue
			}
			data, _ := os.ReadFile(file) // a folder has no headings
			text = string(data)
		}
		if anchor != "" && !slices.Contains(anchors(text), anchor) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

var (
	fences  = regexp.MustCompile("(?ms)^```.*?^```")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names under which a page's headings can be linked to.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		name := unnamed.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// TestPagesLink finds links of a page that lead nowhere.
func TestPagesLink(t *testing.T) {
	t.Parallel()
	if dead := deadLinks(".", "# A b\n[x](#a-b) [y](README.md#read-on) [z](docs)"); dead != nil {
		t.Errorf("these are alive: %v", dead)
	}
	if dead := deadLinks("docs", "[x](#a-b) [y](../README.md#made-up) [z](absent.md)"); len(dead) != 3 {
		t.Errorf("only these are found dead: %v", dead)
	}
	for name, text := range pages(t) {
		for _, dead := range deadLinks(path.Dir(name), text) {
			t.Errorf("%s links to %s, which there is not", name, dead)
		}
	}
}
