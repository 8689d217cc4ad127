//go:build unix

package patchtool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
)

// faulty is a directory in which chosen operations fail.
type faulty struct {
	*os.Root
	fail func(op, name string) error
}

func (f faulty) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := f.fail("open", name); err != nil {
		return nil, err
	}
	return f.Root.OpenFile(name, flag, perm)
}

func (f faulty) Lstat(name string) (fs.FileInfo, error) {
	if err := f.fail("lstat", name); err != nil {
		return nil, err
	}
	return f.Root.Lstat(name)
}

func (f faulty) Link(oldname, newname string) error {
	if err := f.fail("link", newname); err != nil {
		return err
	}
	return f.Root.Link(oldname, newname)
}

func (f faulty) Rename(oldname, newname string) error {
	if err := f.fail("rename", newname); err != nil {
		return err
	}
	return f.Root.Rename(oldname, newname)
}

func (f faulty) Remove(name string) error {
	if err := f.fail("remove", name); err != nil {
		return err
	}
	return f.Root.Remove(name)
}

const manyEdits = `*** Begin Patch
*** Update File: a
-a
+A
*** Update File: dir/b
*** Move to: new/deep/b
-b
+B
*** Delete File: c
*** Add File: new/d
+D
*** Update File: e
-e
+E
*** End Patch`

var (
	manyBefore = map[string]string{"a": "a\n", "dir/b": "b\n", "c": "c\n", "e": "e\n"}
	manyAfter  = map[string]string{"a": "A\n", "new/deep/b": "B\n", "new/d": "D\n", "e": "E\n"}
)

// try applies manyEdits with the given faults, and returns the files afterwards.
func try(t *testing.T, fail func(op, name string) error) (agent.ToolOutput, map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range manyBefore {
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := Config{Root: dir}.check()
	if err != nil {
		t.Fatal(err)
	}
	x := &tool{d, func(root *os.Root, name string) (directory, error) {
		opened, err := root.OpenRoot(name)
		return faulty{opened, fail}, err
	}}
	arguments, err := json.Marshal(map[string]string{"patch": manyEdits})
	if err != nil {
		t.Fatal(err)
	}
	out, invokeErr := x.invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
	files := make(map[string]string)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err == nil && !e.IsDir() {
			var b []byte
			b, err = os.ReadFile(path)
			files[name] = string(b)
		} else if err == nil && name != "." && name != "dir" {
			files[name+"/"] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, files, invokeErr
}

func same(a, b map[string]string) bool {
	for name := range a {
		if _, ok := b[name]; !ok && !strings.HasSuffix(name, "/") || ok && a[name] != b[name] {
			return false
		}
	}
	return true
}

// TestEveryFault lets each operation on files fail once, in turn: the files are all as before or all changed, and it is
// told which.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	total := 0
	out, files, err := try(t, func(string, string) error { total++; return nil })
	if err != nil || out.Failed || !same(files, manyAfter) || !same(manyAfter, files) {
		t.Fatalf("without a fault: %+v, %v, %v", out, err, files)
	}
	if total < 20 {
		t.Fatalf("only %d operations were seen", total)
	}
	undone := 0
	for at := range total {
		n, failed := 0, ""
		out, files, err := try(t, func(op, name string) error {
			if n++; n-1 == at {
				failed = op + " " + name
				return broken
			}
			return nil
		})
		asBefore := same(files, manyBefore) && same(manyBefore, files)
		_, made := files["new/"]
		applied := same(manyAfter, files)
		switch {
		case err == nil && !out.Failed: // a fault that could be got round, or came after: what is left is told
			if !applied || !same(files, manyAfter) && !strings.Contains(out.Text, "could not be removed") {
				t.Errorf("%s: said to be applied: %q, %v", failed, out.Text, files)
			}
		case err == nil:
			undone++
			if !asBefore || made {
				t.Errorf("%s: said to be as before: %q, %v", failed, out.Text, files)
			}
		case errors.Is(err, agent.ErrOutcomeUnknown):
			if !applied || !strings.Contains(err.Error(), "all files are changed") {
				t.Errorf("%s: %v, %v", failed, err, files)
			}
		default:
			t.Errorf("%s: %v", failed, err)
		}
	}
	if undone < 10 {
		t.Errorf("only %d faults led to something being undone", undone)
	}
}

// TestCannotBeUndone breaks the disk for good in the middle: then it must be told exactly what is where.
func TestCannotBeUndone(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	renames := 0
	out, files, err := try(t, func(op, name string) error {
		if op == "rename" && !strings.HasPrefix(name, tempPrefix) {
			renames++
		}
		if renames >= 2 && (op == "rename" || op == "remove" && !strings.HasPrefix(name, tempPrefix)) {
			return broken
		}
		return nil
	})
	if !errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Fatalf("%+v, %v", out, err)
	}
	kept := make(map[string]string) // contents to names of what is kept
	for name, data := range files {
		if strings.Contains(name, tempPrefix) {
			kept[data] = name
		}
	}
	for _, want := range []string{
		`"a" is changed and should be put back from "` + kept["a\n"] + `" (broken)`,
		`"new/deep/b" is new and should be removed (broken)`,
		`"dir/b" is removed and should be put back from "` + kept["b\n"] + `" (broken)`,
		`"c" is removed and should be put back from "` + kept["c\n"] + `" (broken)`,
		`"new/d" is new and should be removed (broken)`, `"e" is as before`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error: %v", want, err)
		}
	}
	if len(kept) != 3 || files["e"] != "e\n" || files["a"] != "A\n" {
		t.Errorf("files: %v", files)
	}
}

// TestWithoutLinks works where a file system has no second names.
func TestWithoutLinks(t *testing.T) {
	t.Parallel()
	out, files, err := try(t, func(op, _ string) error {
		if op == "link" {
			return errors.ErrUnsupported
		}
		return nil
	})
	if err != nil || out.Failed || !same(files, manyAfter) || !same(manyAfter, files) {
		t.Errorf("%+v, %v, %v", out, err, files)
	}
	broken := errors.New("broken")
	out, files, err = try(t, func(op, name string) error {
		if op == "link" {
			return errors.ErrUnsupported
		}
		if op == "rename" && name == "e" {
			return broken
		}
		return nil
	})
	if err != nil || !out.Failed || !same(files, manyBefore) || !same(manyBefore, files) {
		t.Errorf("%+v, %v, %v", out, err, files)
	}
}

// TestChangedMeanwhile changes a file between reading and replacing it, and puts one where a new one goes.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Config{Root: dir}.check()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, patch, want string }{
		{"changed", "*** Begin Patch\n*** Update File: a\n-a\n+A\n*** End Patch",
			`"a" cannot be kept: it was changed meanwhile`},
		{"new", "*** Begin Patch\n*** Add File: b\n+B\n*** End Patch", `"b": file exists`},
	} {
		write("a", "a\n")
		x := &tool{d, func(root *os.Root, name string) (directory, error) {
			write("a", "a and more\n")
			write("b", "somebody's\n")
			return root.OpenRoot(name)
		}}
		arguments, err := json.Marshal(map[string]string{"patch": c.patch})
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
		if err != nil || out.Text != "Nothing was changed: "+c.want+"." {
			t.Errorf("%s: %+v, %v", c.name, out, err)
		}
		for name, want := range map[string]string{"a": "a and more\n", "b": "somebody's\n"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", c.name, name, got, err)
			}
		}
		if err := os.Remove(filepath.Join(dir, "b")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewDirectoriesAreSynced makes sure that a new file can be found after a power failure: each directory on the way
// to it is written through that has a new entry.
func TestNewDirectoriesAreSynced(t *testing.T) {
	t.Parallel()
	d, err := Config{Root: t.TempDir()}.check()
	if err != nil {
		t.Fatal(err)
	}
	var synced []string
	x := &tool{d, func(root *os.Root, name string) (directory, error) {
		opened, err := root.OpenRoot(name)
		return faulty{opened, func(op, file string) error {
			if op == "open" && file == "." {
				synced = append(synced, name)
			}
			return nil
		}}, err
	}}
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"x/y/z/file", []string{".", "x", "x/y", "x/y/z"}},
		{"x/other", []string{"x"}}, // control: nothing new above
	} {
		synced = nil
		out, err := x.invoke(t.Context(), &agent.ToolCall{
			Arguments: json.RawMessage(`{"patch":"*** Begin Patch\n*** Add File: ` + tt.file + `\n+a\n*** End Patch"}`),
		})
		slices.Sort(synced)
		if err != nil || out.Failed || !slices.Equal(synced, tt.want) {
			t.Errorf("%s: synced %q, want %q (%+v, %v)", tt.file, synced, tt.want, out, err)
		}
	}
}

// TestContextEnds ends the context when everything is prepared: nothing may have changed.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Config{Root: dir}.check()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the lease was lost")
	x := &tool{d, func(root *os.Root, name string) (directory, error) {
		cancel(why)
		return root.OpenRoot(name)
	}}
	_, err = x.invoke(ctx, &agent.ToolCall{
		Arguments: json.RawMessage(`{"patch":"*** Begin Patch\n*** Update File: a\n-a\n+A\n*** End Patch"}`),
	})
	if !errors.Is(err, why) || errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(dir)
	b, readErr := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil || readErr != nil || len(entries) != 1 || string(b) != "a\n" {
		t.Errorf("%v, %q", entries, b)
	}
}
