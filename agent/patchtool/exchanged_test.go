//go:build unix

package patchtool

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
)

const (
	addHook    = "*** Add File: docs/post-commit\n+new\n"
	updateHook = "*** Update File: docs/pre-commit\n-old\n+new\n"
)

// TestDirectoryExchanged has somebody put a link to .git/hooks in the place of a directory while a patch is under way,
// before it is opened and after. Nothing is written there, and nothing is said to be done that is not.
func TestDirectoryExchanged(t *testing.T) {
	t.Parallel()
	for when, sections := range map[string]string{
		"before it is opened": addHook, "after it was opened": updateHook + addHook, "never": updateHook + addHook,
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			for _, folder := range []string{"docs", ".git/hooks"} {
				hook := in(folder + "/pre-commit")
				err := errors.Join(os.MkdirAll(in(folder), 0o755), os.WriteFile(hook, []byte("old\n"), 0o755))
				if err != nil {
					t.Fatal(err)
				}
			}
			exchange := func() {
				err := errors.Join(os.Rename(in("docs"), in("moved")), os.Symlink(".git/hooks", in("docs")))
				if err != nil {
					t.Error(err)
				}
			}
			d, err := Config{Root: dir}.check()
			if err != nil {
				t.Fatal(err)
			}
			x := &tool{d, func(root *os.Root, name string) (directory, error) {
				if when == "before it is opened" {
					exchange()
				}
				opened, err := root.OpenRoot(name)
				return faulty{opened, func(op, name string) error {
					if when == "after it was opened" && op == "link" && strings.HasSuffix(name, ".old") {
						exchange()
					}
					return nil
				}}, err
			}}
			arguments, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + sections + "*** End Patch"})
			if err != nil {
				t.Fatal(err)
			}
			out, err := x.invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
			if err != nil || out.Failed != (when != "never") {
				t.Errorf("%+v, %v", out, err)
			}
			for _, name := range []string{".git/hooks/pre-commit", "moved/pre-commit"} {
				if data, err := os.ReadFile(in(name)); err == nil && string(data) != "old\n" {
					t.Errorf("%s is %q", name, data)
				}
			}
			for _, name := range []string{".git/hooks/post-commit", "moved/post-commit"} {
				if _, err := os.Lstat(in(name)); err == nil {
					t.Errorf("there is a file %s", name)
				}
			}
			if when != "never" {
				entries, err := os.ReadDir(in("moved"))
				if err != nil || len(entries) != 1 {
					t.Errorf("left behind: %v, %v", entries, err)
				}
			}
		})
	}
}

// TestLeftovers finds what patches that were killed left behind. What is the only copy of a file stays, and is told.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const gone = ".countersign-1000000000-0123456789ab-"
	write("a")
	write("b")
	write(gone + "0.new")
	write(".countersign-0123456789ab-7.new") // of an earlier version
	write(gone + "1.old")                    // what b was before it was changed
	if err := os.Link(in("a"), in(gone+"2.old")); err != nil {
		t.Fatal(err)
	}
	alive := ".countersign-99999999999-0123456789ab-3.new"
	write(alive)
	write(".countersign-notes") // nobody's
	d, err := Config{Root: dir}.check()
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n*** Add File: c\n+y\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&tool{d, enter}).invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
	if err != nil || !strings.HasSuffix(out.Text, "which alone hold what was there before it: "+gone+"1.old") {
		t.Errorf("%+v, %v", out, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), gone+"1.old "+alive+" .countersign-notes a b c"; got != want {
		t.Errorf("there is now %s, want %s", got, want)
	}
}
