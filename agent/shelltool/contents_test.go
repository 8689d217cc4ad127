//go:build unix

package shelltool_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/shelltool"
)

// lay writes a program.
func lay(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestRunsWhatItHashed names a program by a path that leads this process to another file than the command: what is
// shown is what runs. Not parallel: it changes the directory.
func TestRunsWhatItHashed(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "p"), "#!/bin/sh\necho of the command\n")
	t.Chdir(t.TempDir())
	lay(t, "p", "#!/bin/sh\necho of this process\n")
	tool := newTool(t, shelltool.Config{Workdir: dir})
	for _, name := range []string{"/proc/self/cwd/p", "/dev/fd/../cwd/p", "/proc/thread-self/cwd/p", "./p"} {
		facts, err := tool.Preconditions(t.Context(), argv(name))
		if err != nil {
			continue // it cannot be named like this here
		}
		out, err := tool.Invoke(t.Context(), argv(name))
		if err != nil {
			t.Fatal(err)
		}
		ran := strings.TrimPrefix(out.Text, "Exit code: 0\n--- stdout ---\n")
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte("#!/bin/sh\necho "+ran+"\n")))
		if !strings.HasSuffix(facts[0], sum) {
			t.Errorf("%s: it ran the program %q, shown was %q", name, ran, facts)
		}
	}
	named, err := tool.Preconditions(t.Context(), script("/proc/self/cwd/p"))
	if err != nil || len(named) != 1 {
		t.Errorf("a script is bound to what it does not run: %q, %v", named, err)
	}
	lines := tool.Explain(script("/proc/self/cwd/p"))
	if len(lines) != 1 || !strings.Contains(lines[0], "another file") {
		t.Errorf("and it is not said: %q", lines)
	}
}

// TestNameOfAScript calls a script by a link, as bzegrep calls bzgrep: the script sees the name that was used.
func TestNameOfAScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "tool"), "#!/bin/sh\nbasename $0\n")
	if err := os.Symlink("tool", filepath.Join(dir, "egrep-tool")); err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, shelltool.Config{Workdir: dir, Env: map[string]string{"PATH": dir + ":/usr/bin:/bin"}})
	for _, name := range []string{"./egrep-tool", "egrep-tool"} {
		if out := invoke(t, tool, argv(name)); !strings.HasSuffix(out.Text, "\negrep-tool") {
			t.Errorf("%s: %q", name, out.Text)
		}
	}
}

var sums = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// TestContents lists what decisions about calls are bound to beside their first program, and what is said not to be.
func TestContents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"reload.sh", "other.sh", "x.py", "sub/deep.sh"} {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		lay(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	tool := newTool(t, shelltool.Config{Workdir: dir, Env: map[string]string{"PATH": filepath.Join(dir, "sub") +
		":/usr/bin:/bin"}})
	for _, tt := range []struct {
		call         *agent.ToolCall
		facts, loose []string
	}{
		{script("./reload.sh"), []string{"program ./reload.sh #"}, nil},
		{script("sh -c 'exec ./reload.sh now'"), []string{"program ./reload.sh #", "programs in PATH: sh #"}, nil},
		{argv("sh", "-c", "./reload.sh && ./other.sh"), []string{"program ./reload.sh #", "program ./other.sh #"}, nil},
		{argv("sh", "./reload.sh"), []string{"file ./reload.sh #"}, nil},
		{argv("env", "A=1", "./reload.sh"), []string{"program ./reload.sh #"}, nil},
		{argv("env", "echo"), []string{"programs in PATH: echo #"}, nil},
		{argv("python3", "-u", "x.py", "in"), []string{"file ./x.py #"}, nil},
		{argv("python3", "-c", "print(1)"), nil, nil},
		{script(". ./reload.sh"), []string{"file ./reload.sh #"}, nil},
		{script("echo a; cat x | sort && deep.sh"), []string{"programs in PATH: cat, sort, deep.sh #"}, nil},
		{script("./none.sh || no-such-program"),
			[]string{"program ./none.sh absent", "programs in PATH: no-such-program #"},
			nil},
		{script(`echo "$(./reload.sh)"`), []string{"program ./reload.sh #"}, nil},
		{script("f() { ./reload.sh; }; f"), []string{"program ./reload.sh #"},
			[]string{"content not bound: f, a function has that name"}},
		{script("cd sub && ./deep.sh"), nil, []string{"content not bound: ./deep.sh, the directory may change before"}},
		{script("./reload.sh && cd sub && ./deep.sh"), []string{"program ./reload.sh #"},
			[]string{"content not bound: ./deep.sh, the directory may change before"}},
		{script("for x in 1 2; do ./reload.sh; cd sub; done"), nil,
			[]string{"content not bound: ./reload.sh, the directory may change before"}},
		{script("PATH=/tmp:$PATH; cat x"), nil, []string{"content not bound: cat, the PATH changes before"}},
		{script("$CMD now"), nil, []string{"content not bound, it cannot be named before: $CMD"}},
		{script("./re*"), nil, []string{"content not bound, it cannot be named before: ./re*"}},
		{script(`eval "$x"`), nil, []string{`content not bound, it cannot be named before: eval "$x"`}},
		{script("sudo -u root ./reload.sh"), []string{"programs in PATH: sudo #"},
			[]string{"content not bound, it cannot be named before: sudo -u root ./reload.sh"}},
		{script("find . -exec ./reload.sh {} +"), []string{"programs in PATH: find #"},
			[]string{"content not bound, it cannot be named before: find . -exec ./reload.sh {} +"}},
		{script("make all"), []string{"programs in PATH: make #"},
			[]string{"content not bound, it cannot be named before: make all"}},
		{script("python3 ."), []string{"programs in PATH: python3 #"},
			[]string{"content not bound: ., it is not a file"}},
		{script("if true; then"), nil,
			[]string{"content not bound, it cannot be named before: the rest of the script"}},
		{argv("true"), nil, nil},
	} {
		facts, err := tool.Preconditions(t.Context(), tt.call)
		if err != nil {
			t.Errorf("%s: %v", tt.call.Arguments, err)
			continue
		}
		var got []string
		for _, f := range facts[1:] {
			got = append(got, sums.ReplaceAllString(f, "#"))
		}
		if diff := cmp.Diff(tt.facts, got); diff != "" {
			t.Errorf("%s is bound to (-want +got):\n%s", tt.call.Arguments, diff)
		}
		if diff := cmp.Diff(tt.loose, tool.Explain(tt.call)); diff != "" {
			t.Errorf("%s: not bound (-want +got):\n%s", tt.call.Arguments, diff)
		}
	}
}

// TestContentsChange changes each thing that a call names after people were asked: nothing runs, and they are asked
// again.
func TestContentsChange(t *testing.T) {
	t.Parallel()
	for arguments, file := range map[string]string{
		`{"script":"./reload.sh"}`:                     "reload.sh",
		`{"argv":["sh","-c","./reload.sh"]}`:           "reload.sh",
		`{"script":"./none.sh; true"}`:                 "none.sh",
		`{"script":"deep.sh"}`:                         "bin/deep.sh",
		`{"script":"cat x"}`:                           "bin/cat", // before the other in the PATH
		`{"argv":["sh","reload.sh"]}`:                  "reload.sh",
		`{"script":"echo a | xargs echo; . ./lib.sh"}`: "lib.sh",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"reload.sh", "bin/deep.sh", "lib.sh"} {
			lay(t, filepath.Join(dir, name), "#!/bin/sh\ntouch ran\n")
		}
		tool := newTool(t, shelltool.Config{Workdir: dir, Env: map[string]string{"PATH": filepath.Join(dir, "bin") +
			":/usr/bin:/bin"}})
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(scripted.Call("c1",
			"shell", arguments)), scripted.Say("Done."))}
		r := &agent.Runner{}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if err == nil {
			err = res.State.Approve(res.Interruptions[0], agent.ApproveOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		lay(t, filepath.Join(dir, file), "#!/bin/sh\ntouch ran # another one\n")
		if res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil || len(res.Interruptions) != 1 {
			t.Errorf("%s: it ran: %v; asked again: %d", arguments, err == nil, len(res.Interruptions))
		}
		if err := res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}); err != nil {
			t.Fatal(err)
		}
		if res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); err != nil || !res.State.Finished() {
			t.Errorf("%s: control: it does not run as it is now either: %v", arguments, err)
		}
	}
}
