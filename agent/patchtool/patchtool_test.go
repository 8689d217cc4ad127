//go:build unix

package patchtool_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"countersign/agent"
	"countersign/agent/patchtool"
	"countersign/agent/rawtool"
	"countersign/agent/toolstatus"
)

func newTool(t testing.TB, cfg patchtool.Config) agent.Tool {
	t.Helper()
	tool, err := patchtool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func call(t testing.TB, arguments map[string]string) *agent.ToolCall {
	t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := rawtool.Canonical(b)
	if err != nil {
		t.Fatal(err)
	}
	return &agent.ToolCall{Arguments: canonical}
}

func patch(t testing.TB, text string) *agent.ToolCall {
	t.Helper()
	return call(t, map[string]string{"patch": text})
}

// lay writes files into dir.
func lay(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree reads all that is below dir: contents of files with their modes, targets of links, and directories.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case e.IsDir():
			all[name+"/"] = ""
		case info.Mode()&fs.ModeSymlink != 0:
			all[name], err = os.Readlink(path)
		case info.Mode().IsRegular():
			var b []byte
			b, err = os.ReadFile(path)
			all[name] = fmt.Sprintf("%v %s", info.Mode().Perm(), b)
		default:
			all[name] = info.Mode().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// contents is a tree without directories and modes.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for name, data := range tree(t, dir) {
		if !strings.HasSuffix(name, "/") {
			_, files[name], _ = strings.Cut(data, " ")
		}
	}
	return files
}

func archive(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return txtar.Parse(b)
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	type example struct {
		patch         string
		before, after map[string]string
	}
	examples := make(map[string]*example)
	for _, f := range archive(t, "testdata/apply/format.txtar").Files {
		name, file, _ := strings.Cut(f.Name, "/")
		e := examples[name]
		if e == nil {
			e = &example{before: map[string]string{}, after: map[string]string{}}
			examples[name] = e
		}
		switch kind, file, _ := strings.Cut(file, "/"); kind {
		case "patch":
			e.patch = string(f.Data)
		case "before":
			e.before[file] = string(f.Data)
		case "after":
			e.after[file] = string(f.Data)
		default:
			t.Fatalf("%q is no part of an example", f.Name)
		}
	}
	if len(examples) < 15 {
		t.Fatalf("only %d examples in the corpus", len(examples))
	}
	// The same again with CR LF in the files, in the patch, and in both, and without a line end at the end of files.
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	keep := func(s string) string { return s }
	cut := func(s string) string { return strings.TrimSuffix(s, "\n") }
	for name, e := range examples {
		for _, v := range []struct {
			name        string
			patch, file func(string) string
		}{
			{"as it is", keep, keep}, {"files with CR LF", keep, crlf}, {"patch with CR LF", crlf, keep},
			{"all with CR LF", crlf, crlf},
			{"files without a last line end", keep, cut},
		} {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				before, after := map[string]string{}, map[string]string{}
				for file, data := range e.before {
					before[file] = v.file(data)
				}
				for file, data := range e.after {
					after[file] = v.file(data)
					if strings.Contains(e.patch, "*** Add File: "+file) ||
						len(e.before[file]) == 0 && !strings.Contains(e.patch, "*** Move to: "+file) {
						after[file] = data // what is new ends its lines with LF
					}
				}
				lay(t, dir, before)
				tool := newTool(t, patchtool.Config{Root: dir})
				c := patch(t, v.patch(e.patch))
				if err := tool.Validate(c.Arguments); err != nil {
					t.Fatal(err)
				}
				if _, err := tool.Preconditions(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
					t.Errorf("asking about it changed files (-before +after):\n%s", diff)
				}
				out, err := tool.Invoke(t.Context(), c)
				if err != nil || out.Failed {
					t.Fatalf("%+v, %v", out, err)
				}
				if diff := cmp.Diff(after, contents(t, dir)); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	a := archive(t, "testdata/refuse/messages.txtar")
	files, refused := map[string]string{}, 0
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
			files[name] = string(f.Data)
			continue
		}
		refused++
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lay(t, dir, files)
			before := tree(t, dir)
			tool := newTool(t, patchtool.Config{Root: dir})
			want, text, _ := strings.Cut(string(f.Data), "\n")
			c := patch(t, text)
			if err := tool.Validate(c.Arguments); err != nil {
				if err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				syntax, ok := errors.AsType[*patchtool.SyntaxError](err)
				if !ok || !strings.HasPrefix(want, fmt.Sprintf("line %d of the patch: ", syntax.Line)) {
					t.Errorf("the error does not say which line: %#v", err)
				}
			} else {
				_, err := tool.Preconditions(t.Context(), c)
				if err == nil || err.Error() != "the patch does not apply: "+want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			out, err := tool.Invoke(t.Context(), c)
			if err == nil && (!out.Failed || out.Text != "Nothing was changed: "+want+".") {
				t.Errorf("Invoke: %+v", out)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("files changed (-before +after):\n%s", diff)
			}
		})
	}
	if refused < 30 {
		t.Errorf("only %d patches in the corpus", refused)
	}
}

// TestStaysInside tries to get out by links and devices. Outside is a file that every attempt would change or show.
func TestStaysInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, patch, want string }{
		{"a link to a file outside", update("link"), `"link" is a symbolic link; name the file itself`},
		{"a link inside", update("inner"), `"inner" is a symbolic link; name the file itself`},
		{"a link to a directory outside", update("out/secret"), `"out" is a symbolic link; name the file itself`},
		{"an added file in a linked directory", add("out/new"), `"out" is a symbolic link; name the file itself`},
		{"an added file where a dangling link is", add("dangling"),
			`"dangling" is a symbolic link; name the file itself`},
		{"a removed link", "*** Delete File: link\n", `"link" is a symbolic link; name the file itself`},
		{"a move out", "*** Update File: file\n*** Move to: out/file\n",
			`"out" is a symbolic link; name the file itself`},
		{"an absolute link", update("absolute/passwd"), `"absolute" is a symbolic link; name the file itself`},
		{"a pipe", update("pipe"), `"pipe" is not a regular file`},
		{"hidden characters", add("a\u202eb"),
			"line 2 of the patch: the name \"a\\u202eb\" has characters that cannot be seen"},
		{"a hidden .git", add(".g\u200cit/hooks"),
			"line 2 of the patch: the name \".g\\u200cit/hooks\" has characters that cannot be seen"},
		{"a no-break space", add("a\u00a0/b"),
			"line 2 of the patch: the name \"a\\u00a0/b\" has characters that cannot be seen"},
		{"a zero byte", add("a\x00b"), "line 2 of the patch: the name \"a\\x00b\" has characters that cannot be seen"},
		{"two names of one file", update("file") + update("hard"), `"file" and "hard" are the same file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lay(t, dir, map[string]string{"root/file": "x\n", "outside/secret": "x\n"})
			root := filepath.Join(dir, "root")
			for name, target := range map[string]string{
				"link": "../outside/secret", "inner": "file", "out": "../outside", "dangling": "../outside/new",
				"absolute": "/etc",
			} {
				if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			}
			in := func(name string) string { return filepath.Join(root, name) }
			if err := errors.Join(syscall.Mkfifo(in("pipe"), 0o600), os.Link(in("file"), in("hard"))); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			tool := newTool(t, patchtool.Config{Root: root})
			call := patch(t, "*** Begin Patch\n"+c.patch+"*** End Patch\n")
			err := tool.Validate(call.Arguments)
			if err == nil {
				_, err = tool.Preconditions(t.Context(), call)
			}
			if err == nil || strings.TrimPrefix(err.Error(), "the patch does not apply: ") != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if out, err := tool.Invoke(t.Context(), call); err == nil && !out.Failed {
				t.Errorf("it was applied: %+v", out)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("files changed (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("control: without links and tricks it is applied", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		lay(t, dir, map[string]string{"file": "x\n"})
		out, err := newTool(t, patchtool.Config{Root: dir}).Invoke(t.Context(),
			patch(t, "*** Begin Patch\n"+update("file")+add("new/é ü")+"*** End Patch\n"))
		if err != nil || out.Failed {
			t.Errorf("%+v, %v: the cases above prove nothing", out, err)
		}
	})
}

func update(name string) string { return "*** Update File: " + name + "\n-x\n+y\n" }
func add(name string) string    { return "*** Add File: " + name + "\n+y\n" }

func TestBindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"b": "x\n", "a": "x\n"})
	tool := newTool(t, patchtool.Config{Root: dir, WrittenRoot: "${REPO}", Allow: []string{"*", "new/**"}})
	sum := sha256.Sum256([]byte(dir))
	if diff := cmp.Diff([]string{fmt.Sprintf("root ${REPO} (path sha256:%x…)", sum[:8]), "allow *", "allow new/**"},
		tool.Attributes); diff != "" {
		t.Errorf("binding (-want +got):\n%s", diff)
	}
	c := patch(t, "*** Begin Patch\n"+update("b")+
		"*** Update File: a\n*** Move to: new/a\n*** Add File: c\n*** End Patch\n")
	bind := func() []string {
		t.Helper()
		facts, err := tool.Preconditions(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return facts
	}
	const x = "sha256:73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac mode 0644" // of "x\n"
	first := bind()
	if diff := cmp.Diff([]string{"a " + x, "b " + x, "c absent", "new/a absent"}, first); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	lay(t, dir, map[string]string{"b": "x\nmore\n"})
	if diff := cmp.Diff(first, bind()); !strings.Contains(diff, "b sha256") {
		t.Errorf("a change of a file does not show: %s", diff)
	}
}

func TestModesAndOwners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"run": "x\n", "old": "x\n"})
	err := errors.Join(os.Chmod(filepath.Join(dir, "run"), 0o751), os.Chmod(filepath.Join(dir, "old"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(filepath.Join(dir, "run"), 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	tool := newTool(t, patchtool.Config{Root: dir})
	out, err := tool.Invoke(t.Context(), patch(t, "*** Begin Patch\n"+update("run")+
		"*** Update File: old\n*** Move to: moved\n-x\n+y\n"+add("new")+"*** End Patch"))
	if err != nil || out.Failed {
		t.Fatalf("%+v, %v", out, err)
	}
	want := map[string]string{"./": "", "run": "-rwxr-x--x y\n", "moved": "-rw------- y\n", "new": "-rw-r--r-- y\n"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && (s.Uid != 1234 || s.Gid != 2345) {
		t.Errorf("the owner is %d:%d now", s.Uid, s.Gid)
	}
}

func TestLimitsAndPatterns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{
		"a": "x\n", "big": strings.Repeat("x", 101), "docs/deep/er/a.md": "x\n", "docs/a.md": "x\n", "docs/a.go": "x\n",
	})
	for _, c := range []struct {
		cfg         patchtool.Config
		patch, want string
	}{
		{patchtool.Config{MaxFile: 100}, update("big"),
			`"big" has 101 bytes, and this tool changes files of at most 100`},
		{patchtool.Config{MaxFile: 100}, "*** Update File: a\n-x\n+" + strings.Repeat("y", 100) + "\n",
			`"a" would have 101 bytes, and this tool changes files of at most 100`},
		{patchtool.Config{MaxFile: 100}, "*** Add File: n\n+" + strings.Repeat("y", 100) + "\n",
			`"n" would have 101 bytes, and this tool changes files of at most 100`},
		{patchtool.Config{MaxPatch: 40}, add("n"),
			"the patch has 49 bytes, and at most 40 are applied at once; send it in parts"},
		{patchtool.Config{Allow: []string{"docs/**/*.md"}}, update("docs/a.go"),
			`"docs/a.go" is none of the files that this tool may touch: docs/**/*.md`},
		{patchtool.Config{Allow: []string{"docs/*.md", "a"}}, update("docs/deep/er/a.md"),
			`"docs/deep/er/a.md" is none of the files that this tool may touch: docs/*.md, a`},
		{patchtool.Config{Allow: []string{"docs/**"}}, "*** Update File: docs/a.md\n*** Move to: a2\n",
			`"a2" is none of the files that this tool may touch: docs/**`},
		{patchtool.Config{Allow: []string{"docs/**/*.md"}}, update("docs/deep/er/a.md") + update("docs/a.md"), ""},
		{patchtool.Config{Allow: []string{"**"}}, update("docs/deep/er/a.md") + update("a"), ""},
		{patchtool.Config{Allow: []string{"**/er/*"}}, update("docs/deep/er/a.md"), ""},
	} {
		c.cfg.Root = dir
		tool := newTool(t, c.cfg)
		call := patch(t, "*** Begin Patch\n"+c.patch+"*** End Patch\n")
		err := tool.Validate(call.Arguments)
		if err == nil {
			_, err = tool.Preconditions(t.Context(), call)
		}
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "the patch does not apply: ")
		}
		if got != c.want {
			t.Errorf("%.40q: %s, want %s", c.patch, got, c.want)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"file": ""})
	for _, c := range []struct {
		cfg  patchtool.Config
		want string
	}{
		{patchtool.Config{}, "root is missing; name the directory that patches are applied in"},
		{patchtool.Config{Root: dir + "/no", WrittenRoot: "${A}/no"},
			"root ${A}/no cannot be used: no such file or directory"},
		{patchtool.Config{Root: dir + "/file", WrittenRoot: "${A}"}, "root ${A} is not a directory"},
		{patchtool.Config{Root: dir, MaxFile: -1}, "max_file and max_patch must not be negative"},
		{patchtool.Config{Root: dir, Allow: []string{"../x"}}, `allow "../x" is no pattern of a name below the root`},
		{patchtool.Config{Root: dir, Allow: []string{"a**/x"}},
			`allow "a**/x" has ** in a name; it stands for whole directories, as in src/**/*.go`},
		{patchtool.Config{Root: dir, Allow: []string{"[a"}},
			`allow "[a" is no pattern: a bracket or a backslash in it has no end`},
	} {
		_, err := patchtool.New(c.cfg)
		want := `configuration: patch tool "apply_patch": ` + c.want
		if !errors.Is(err, agent.ErrConfig) || err.Error() != want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, want)
		}
	}
	tool := newTool(t, patchtool.Config{Root: dir})
	ask, err := tool.NeedsApproval(t.Context(), patch(t, ""))
	if !ask || err != nil || tool.Idempotent || tool.Kind != agent.KindApplyPatch || !json.Valid(tool.Parameters) {
		t.Errorf("got %+v", tool)
	}
	other := newTool(t, patchtool.Config{Root: dir, MaxFile: 5, MaxPatch: 5})
	if tool.Digest() != other.Digest() {
		t.Error("a limit is part of what decisions are bound to")
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "one\ntwo\n", "gone": "x\n"})
	tool := newTool(t, patchtool.Config{Root: dir, Native: true})
	if tool.Wire != agent.WireApplyPatch || !json.Valid(tool.Parameters) {
		t.Errorf("got %+v", tool)
	}
	for _, c := range []struct {
		arguments map[string]string
		want      string
	}{
		{map[string]string{"type": "create_file", "path": "new", "diff": "+x\n+y\n"},
			"The patch is applied.\nadded new (+2)"},
		{map[string]string{"type": "create_file", "path": "empty", "diff": ""},
			"The patch is applied.\nadded empty (+0)"},
		{map[string]string{"type": "update_file", "path": "a", "diff": "@@\n one\n-two\n+2\n"},
			"The patch is applied.\nupdated a (+1 -1)"},
		{map[string]string{"type": "delete_file", "path": "gone"}, "The patch is applied.\ndeleted gone"},
		{map[string]string{"type": "update_file", "path": "a", "diff": "@@\n-two\n+2\n"},
			`Nothing was changed: "a", hunk 1 (line 1 of the patch): ` +
				`its context is not in the file after line 0: no line is "two".`},
	} {
		out, err := tool.Invoke(t.Context(), call(t, c.arguments))
		if err != nil || out.Text != c.want || out.Failed != strings.HasPrefix(c.want, "Nothing") {
			t.Errorf("%v: %+v, %v", c.arguments, out, err)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "one\n2\n", "new": "x\ny", "empty": ""}, contents(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ arguments, want string }{
		{`{"patch":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, "type and path are missing"},
		{`{"type":"update_file"}`, "type and path are both needed"},
		{`{"type":"rename","path":"a"}`, `type must be create_file, update_file or delete_file, not "rename"`},
		{`{"type":"update_file","path":"../a","diff":"-x"}`, `"../a" leads out of the tool's directory`},
		{`{"type":"update_file","path":"a","diff":""}`, "line 1 of the patch: the diff changes nothing"},
		{`{"type":"update_file","path":"a","diff":"-x\n*** Delete File: b"}`,
			`line 2 of the patch: "*** Delete File: b" does not belong into a diff of one file`},
		{`{"type":"delete_file","path":"a","diff":"-x"}`, "a file is deleted without a diff"},
		{`{"type":"delete_file","path":"a","diff":null,"patch":"x"}`, "give either patch, or type, path and diff"},
		{`{"type":"delete_file","path":"a","mode":1}`, `there is no member "mode"`},
		{`{"type":"delete_file","path":5}`, "path must not be number"},
	} {
		if err := tool.Validate(json.RawMessage(c.arguments)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.arguments, err, c.want)
		}
	}
	function := newTool(t, patchtool.Config{Root: dir})
	for _, arguments := range []string{`{}`, `{"type":"delete_file","path":"a"}`} {
		if err := function.Validate(json.RawMessage(arguments)); err == nil || err.Error() != "patch is missing" {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	got, err := patchtool.Explain(patch(t, "*** Begin Patch\n"+update("a")+"@@\n+z\n"+
		"*** Update File: b\n*** Move to: c\n"+add("d")+"*** Delete File: e\n*** End Patch").Arguments)
	if err != nil {
		t.Fatal(err)
	}
	want := []patchtool.FileChange{
		{Operation: patchtool.Update, Path: "a", Added: 2, Removed: 1}, {Operation: patchtool.Move, Path: "b", To: "c"},
		{Operation: patchtool.Add, Path: "d", Added: 1}, {Operation: patchtool.Delete, Path: "e"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got, err = patchtool.Explain(json.RawMessage(`{"type":"update_file","path":"a","diff":"-x\n+y\n+z"}`))
	if err != nil || len(got) != 1 || got[0].String() != "updated a (+2 -1)" {
		t.Errorf("native: %v, %v", got, err)
	}
	_, err = patchtool.Explain(patch(t, "x").Arguments)
	if _, ok := errors.AsType[*patchtool.SyntaxError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// TestAtOnce applies patches to one file from several sides. Each must find what the one before left.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 20
	var before, want strings.Builder
	for i := range n {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&want, "LINE %d\n", i)
	}
	lay(t, dir, map[string]string{"a": before.String()})
	errs := make(chan error, n)
	for i := range n {
		tool := newTool(t, patchtool.Config{Root: dir}) // also different tools on one directory
		c := patch(t, fmt.Sprintf("*** Begin Patch\n*** Update File: a\n-line %d\n+LINE %d\n*** End Patch", i, i))
		go func() {
			out, err := tool.Invoke(t.Context(), c)
			if out.Failed {
				err = errors.New(out.Text)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": want.String()}, contents(t, dir)); diff != "" {
		t.Errorf("a patch was lost (-want +got):\n%s", diff)
	}
	if left := tree(t, dir); len(left) != 2 {
		t.Errorf("there is more than the directory and the file: %v", left)
	}
}

// TestStatus: the output says how many files a patch has changed; of one that does not apply it says nothing.
func TestStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "one\n"})
	tool := newTool(t, patchtool.Config{Root: dir})
	const both = "*** Begin Patch\n*** Add File: b\n+new\n*** Update File: a\n@@\n-one\n+two\n*** End Patch\n"
	for _, want := range []int{2, 0} { // what is changed already cannot be changed again
		out, err := tool.Invoke(t.Context(), patch(t, both))
		if err != nil || out.Status != (toolstatus.Status{Files: want}) || out.Failed != (want == 0) {
			t.Errorf("%+v, %v; want %d files", out, err, want)
		}
	}
}
