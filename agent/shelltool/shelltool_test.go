//go:build unix

package shelltool_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/agent/shelltool"
	"countersign/agent/toolstatus"
)

func newTool(t testing.TB, cfg shelltool.Config) agent.Tool {
	t.Helper()
	if cfg.Workdir == "" {
		cfg.Workdir = t.TempDir()
	}
	tool, err := shelltool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func call(v any) *agent.ToolCall {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	canonical, err := rawtool.Canonical(b)
	if err != nil {
		panic(err)
	}
	return &agent.ToolCall{Tool: "shell", Kind: agent.KindShell, Arguments: canonical}
}

func script(s string) *agent.ToolCall      { return call(map[string]string{"script": s}) }
func argv(words ...string) *agent.ToolCall { return call(map[string][]string{"argv": words}) }

// invoke runs a call that has an output.
func invoke(t testing.TB, tool agent.Tool, c *agent.ToolCall) agent.ToolOutput {
	t.Helper()
	if err := tool.Validate(c.Arguments); err != nil {
		t.Fatal(err)
	}
	out, err := tool.Invoke(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(out.Text) {
		t.Errorf("the output is not UTF-8: %q", out.Text)
	}
	return out
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	tool := newTool(t, shelltool.Config{})
	for _, c := range []struct {
		name   string
		call   *agent.ToolCall
		text   string
		failed bool
	}{
		{"argv", argv("printf", "%s|", "a b", "$HOME", "*"), "Exit code: 0\n--- stdout ---\na b|$HOME|*|", false},
		{"script", script("echo out; echo err >&2; exit 3"),
			"Exit code: 3\n--- stdout ---\nout\n--- stderr ---\nerr", true},
		{"nothing", argv("true"), "Exit code: 0", false},
		{"a script that looks like an option", script("-x 2>/dev/null || echo no option"),
			"Exit code: 0\n--- stdout ---\nno option", false},
		{"standard input is empty", script("cat; read x || echo end"), "Exit code: 0\n--- stdout ---\nend", false},
		{"signal", script("kill -TERM $$"), "Exit code: 143\n[It was ended by a signal: terminated.]", true},
		{"killed by somebody else", script("kill -KILL $$"),
			"Exit code: 137\n[It was ended by a signal: killed.]", true},
		{"binary", script(`printf 'a\0b\377\376c\n'`),
			"Exit code: 0\n--- stdout (not all of it is text: other bytes are shown as \uFFFD) ---\na\uFFFDb\uFFFDc",
			false},
		{"text of other languages", argv("printf", "ü€𝄞"), "Exit code: 0\n--- stdout ---\nü€𝄞", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := invoke(t, tool, c.call)
			out.Status = toolstatus.Status{} // TestStatus looks at that
			if diff := cmp.Diff(agent.ToolOutput{Text: c.text, Failed: c.failed}, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCleanEnvironment makes sure that nothing of this process gets through. Not parallel: it sets a variable.
func TestCleanEnvironment(t *testing.T) {
	t.Setenv("COUNTERSIGN_TEST_SECRET", "hunter2")
	dir := t.TempDir()
	tool := newTool(t, shelltool.Config{Workdir: dir, Env: map[string]string{"TOKEN": "t0", "LANG": "C"}})
	out := invoke(t, tool, argv("env"))
	var got []string
	for line := range strings.Lines(strings.TrimPrefix(out.Text, "Exit code: 0\n--- stdout ---\n") + "\n") {
		if line = strings.TrimSpace(line); line != "" {
			got = append(got, line)
		}
	}
	slices.Sort(got)
	diff := cmp.Diff([]string{"HOME=/nonexistent", "LANG=C", "PATH=" + shelltool.DefaultPath, "TOKEN=t0"}, got)
	if diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for _, part := range append(tool.Attributes, tool.Description, string(tool.Parameters)) {
		if strings.Contains(part, "t0") {
			t.Errorf("a value is in the definition: %q", part)
		}
	}
}

func TestRunsInWorkdir(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, shelltool.Config{Workdir: link, WrittenWorkdir: "${REPO}"})
	want, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	if out := invoke(t, tool, argv("pwd")); out.Text != "Exit code: 0\n--- stdout ---\n"+want {
		t.Errorf("it ran in %q, want %s", out.Text, want)
	}
	sum := sha256.Sum256([]byte(link))
	if diff := cmp.Diff([]string{fmt.Sprintf("workdir ${REPO} (path sha256:%x…)", sum[:8]), "shell /bin/sh", "env HOME",
		"env LANG", "env PATH"}, tool.Attributes); diff != "" {
		t.Errorf("binding (-want +got):\n%s", diff)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", real); err != nil {
		t.Fatal(err)
	}
	if out, err := tool.Invoke(t.Context(), argv("pwd")); err == nil || errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("it ran in another directory: %q, %v", out.Text, err)
	}
}

// gone waits until no process has the number that a script left in a file. A zombie that nobody waits for counts as
// gone.
func gone(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("process %d still runs", pid)
		}
		runtime.Gosched()
	}
}

func alive(t *testing.T, file string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(pid, 0) == nil
}

// TestGroupIsKilled starts grandchildren that ignore signals and hold the output open; none may outlive the call. That
// the same happens when the time is up is in TestTimeout.
func TestGroupIsKilled(t *testing.T) {
	t.Parallel()
	const grandchild = `sh -c 'trap "" TERM HUP INT; echo $$ > pid; while :; do sleep 1000; done' & ` +
		`while [ ! -s pid ]; do :; done; echo started; `
	t.Run("at the end of the command", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		tool := newTool(t, shelltool.Config{Workdir: dir, Timeout: time.Hour})
		if out := invoke(t, tool, script(grandchild)); out.Text != "Exit code: 0\n--- stdout ---\nstarted" {
			t.Errorf("got %q", out.Text)
		}
		gone(t, filepath.Join(dir, "pid"))
	})
	t.Run("at the end of the context", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		tool := newTool(t, shelltool.Config{Workdir: dir, Timeout: time.Hour})
		why := errors.New("the lease was lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			for {
				if b, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && len(b) > 0 {
					cancel(why)
					return
				}
				runtime.Gosched()
			}
		}()
		out, err := tool.Invoke(ctx, script(grandchild+"wait"))
		if !errors.Is(err, agent.ErrOutcomeUnknown) || !errors.Is(err, why) {
			t.Errorf("got %q, %v", out.Text, err)
		}
		gone(t, filepath.Join(dir, "pid"))
	})
	t.Run("control: what leaves the group is out of reach, and it is said", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		tool := newTool(t, shelltool.Config{Workdir: dir, Timeout: time.Hour})
		out := invoke(t, tool, script("setsid "+grandchild))
		file := filepath.Join(dir, "pid")
		if !alive(t, file) {
			t.Error("the control did not survive: the tests above prove nothing")
		}
		b, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		if !strings.Contains(out.Text, "out of reach, and holds its output open") {
			t.Errorf("got %q", out.Text)
		}
	})
}

func TestNothingStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := newTool(t, shelltool.Config{Workdir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tool.Invoke(ctx, script("touch ran"))
	if err == nil || errors.Is(err, agent.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context had ended: %v", err)
	}
	_, err = tool.Invoke(t.Context(), argv("no-such-program"))
	if err == nil || errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("something ran")
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), []byte("\x01\x02"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := invoke(t, tool, argv("./data"))
	if out.Text != "[The command was not started: exec format error.]" || !out.Failed {
		t.Errorf("a file that is no program: %+v", out)
	}
}

func TestOutputIsCut(t *testing.T) {
	t.Parallel()
	tool := newTool(t, shelltool.Config{MaxOutput: 1000})
	t.Run("both streams", func(t *testing.T) {
		t.Parallel()
		out := invoke(t, tool, script(`echo begin; i=0; while [ $i -lt 3000 ]; do echo "ü line $i"; `+
			`echo "err $i" >&2; i=$((i+1)); done; echo end`)).Text
		if len(out) > 1400 {
			t.Errorf("%d bytes, and the limit is 1000 and what is said about it", len(out))
		}
		for _, want := range []string{
			"--- stdout (", "begin\n", "\nend\n", "bytes left out …]",
			"--- stderr (", "err 0\n", "err 2999", "of them left out) ---",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %q", want, out)
			}
		}
	})
	t.Run("each stream keeps its end", func(t *testing.T) {
		t.Parallel()
		out := invoke(t, tool, script(`for i in 1 2 3 4 5 6 7 8 9; do printf '%055d\n' 0; done; echo "out ends"; `+
			`for i in 1 2 3 4 5 6 7 8; do printf '%055d\n' 0 >&2; done; `+
			`echo "FAIL: what went wrong" >&2; printf '%055d\nend\n' 0 >&2`)).Text
		for _, want := range []string{"out ends\n", "FAIL: what went wrong\n", "0\nend"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %q", want, out)
			}
		}
	})
	t.Run("what stderr leaves is for stdout", func(t *testing.T) {
		t.Parallel()
		out := invoke(t, tool, script(`head -c 990 /dev/zero | tr '\0' x; echo small >&2`)).Text
		if !strings.Contains(out, strings.Repeat("x", 990)) || strings.Contains(out, "left out") {
			t.Errorf("990 and 6 bytes were cut: %q", out)
		}
	})
}

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	function := newTool(t, shelltool.Config{Timeout: 10 * time.Second})
	native := newTool(t, shelltool.Config{Timeout: 10 * time.Second, Native: true})
	long := strings.Repeat("x", 70000)
	for _, c := range []struct {
		tool            agent.Tool
		arguments, want string
	}{
		{function, `{}`, `give exactly one of argv, as in {"argv":["git","status"]}, ` +
			`and script, as in {"script":"git status | head"}`},
		{function, `{"argv":["a"],"script":"b"}`, `give exactly one of argv, as in {"argv":["git","status"]}, ` +
			`and script, as in {"script":"git status | head"}`},
		{function, `{"argv":[]}`, "argv needs a program as its first entry"},
		{function, `{"argv":[""]}`, "argv needs a program as its first entry"},
		{function, `{"argv":["a",1]}`, "argv must not be number"},
		{function, `{"argv":["a\u0000b"]}`, "argv[0] has a zero byte at byte 1, which cannot be passed to a program"},
		{function, `{"script":" \n"}`, "script is empty"},
		{function, `{"script":"echo a\u202eb"}`, "script has the bidirectional control character U+202E at byte 6, " +
			"which makes it look different from what it is; leave it out"},
		{function, `{"script":"` + long + `"}`, "script has 70000 bytes, and at most 65536 are run, " +
			"because people have to read them; put the rest into a file first"},
		{function, `{"script":"a","timeout_seconds":11}`,
			"the timeout of 11s is more than the 10s that this tool allows; ask for less, or leave it out"},
		{function, `{"script":"a","timeout_seconds":0}`, "timeout_seconds must be at least 1"},
		{function, `{"script":"a","timeout_seconds":9223372036854775807}`, "timeout_seconds is more than a day"},
		{function, `{"script":"a","timeout_seconds":1.5}`, "timeout_seconds must not be number 1.5"},
		{function, `{"script":"a","cwd":"/"}`, `there is no member "cwd"`},
		{function, `{"commands":["a"]}`, "there is no member commands; give argv or script"},
		{native, `{"script":"a"}`, "commands is missing"},
		{native, `{"commands":[]}`, "commands is empty"},
		{native, `{"commands":["a",""]}`, "commands[1] is empty"},
		{native, `{"commands":["a"],"timeout_ms":10001}`,
			"the timeout of 10.001s is more than the 10s that this tool allows; ask for less, or leave it out"},
		{native, `{"commands":["a"],"max_output_length":0}`, "max_output_length must be at least 1"},
		{native, `{"commands":["a"],"argv":["b"]}`, "commands goes with timeout_ms and max_output_length only"},
	} {
		err := c.tool.Validate(json.RawMessage(c.arguments))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60s: %v, want %s", c.arguments, err, c.want)
		}
		out, err := c.tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(c.arguments)})
		if err == nil {
			t.Errorf("%.60s ran: %q", c.arguments, out.Text)
		}
	}
	for arguments, tool := range map[string]agent.Tool{
		`{"script":"a","timeout_seconds":10}`:                           function,
		`{"commands":["a"],"max_output_length":null,"timeout_ms":null}`: native,
	} {
		if err := tool.Validate(json.RawMessage(arguments)); err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  shelltool.Config
		want string
	}{
		{shelltool.Config{},
			`configuration: shell tool "shell": workdir is missing; name the directory that commands run in`},
		{shelltool.Config{Workdir: dir + "/no", WrittenWorkdir: "${A}/no"},
			`configuration: shell tool "shell": workdir ${A}/no cannot be used: no such file or directory`},
		{shelltool.Config{Workdir: file, WrittenWorkdir: "${A}"},
			`configuration: shell tool "shell": workdir ${A} is not a directory`},
		{shelltool.Config{Workdir: dir, Timeout: -1},
			`configuration: shell tool "shell": timeout must not be negative`},
		{shelltool.Config{Workdir: dir, MaxOutput: 1},
			`configuration: shell tool "shell": max_output must be at least 256 bytes`},
		{shelltool.Config{Workdir: dir, Name: "x", Shell: "bash"},
			`configuration: shell tool "x": shell must be an absolute path, as /bin/bash is`},
		{shelltool.Config{Workdir: dir, Shell: "/no/sh"},
			`configuration: shell tool "shell": shell cannot be run: no such file or directory`},
		{shelltool.Config{Workdir: dir, Env: map[string]string{"A=B": "s3cret"}},
			`configuration: shell tool "shell": env has the name "A=B", which no variable can have`},
		{shelltool.Config{Workdir: dir, Env: map[string]string{"A": "s3cret\x00"}},
			`configuration: shell tool "shell": env A has a value with a zero byte in it`},
		{shelltool.Config{Workdir: dir, Env: map[string]string{"PATH": "/bin:."}},
			`configuration: shell tool "shell": env PATH has a directory in it that is not absolute; ` +
				`what it finds would depend on where a command runs`},
	} {
		_, err := shelltool.New(c.cfg)
		if !errors.Is(err, agent.ErrConfig) || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, c.want)
		}
	}
}

// TestDefinition pins what the runner relies on.
func TestDefinition(t *testing.T) {
	t.Parallel()
	tool := newTool(t, shelltool.Config{})
	if ask, err := tool.NeedsApproval(t.Context(), argv("true")); !ask || err != nil {
		t.Error("a call runs without being asked about")
	}
	if tool.Idempotent || tool.Kind != agent.KindShell || tool.Wire != agent.WireFunction ||
		!json.Valid(tool.Parameters) {
		t.Errorf("got %+v", tool)
	}
	dir := t.TempDir()
	one := newTool(t, shelltool.Config{Workdir: dir})
	other := newTool(t, shelltool.Config{Workdir: dir, Timeout: time.Second, MaxOutput: 500})
	if one.Digest() != other.Digest() {
		t.Error("a limit is part of what decisions are bound to")
	}
	for _, cfg := range []shelltool.Config{
		{Env: map[string]string{"A": "1"}}, {Shell: "/bin/bash"}, {WrittenWorkdir: "${OTHER}"}, {Native: true},
	} {
		cfg.Workdir = dir
		if one.Digest() == newTool(t, cfg).Digest() {
			t.Errorf("decisions are not bound to %+v", cfg)
		}
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := newTool(t, shelltool.Config{Workdir: dir})
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "deploy.sh"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bind := func(c *agent.ToolCall) []string {
		t.Helper()
		facts, err := tool.Preconditions(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return facts
	}
	write("#!/bin/sh\necho one\n")
	first := bind(argv("./deploy.sh"))
	want := "program ./deploy.sh sha256:"
	if len(first) != 1 || !strings.HasPrefix(first[0], want) || len(first[0]) != len(want)+64 {
		t.Errorf("got %q", first)
	}
	if diff := cmp.Diff(first, bind(argv("./deploy.sh", "now"))); diff != "" {
		t.Errorf("the same program (-first +second):\n%s", diff)
	}
	write("#!/bin/sh\necho two\n")
	if second := bind(argv("./deploy.sh")); cmp.Equal(first, second) {
		t.Errorf("another program has the same facts: %q", second)
	}
	if facts := bind(script("ls")); !strings.HasPrefix(facts[0], "program /bin/sh sha256:") {
		t.Errorf("a script is run by %q", facts)
	}
	_, err := tool.Preconditions(t.Context(), argv("no-such-program"))
	if err == nil || err.Error() != `there is no program "no-such-program" in the PATH of this tool` {
		t.Errorf("got %v", err)
	}
	_, err = tool.Preconditions(t.Context(), argv("./file"))
	if err == nil || err.Error() != `the program "./file" cannot be run: no such file or directory` {
		t.Errorf("got %v", err)
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	tool := newTool(t, shelltool.Config{Native: true})
	if tool.Wire != agent.WireShell {
		t.Errorf("wire form %q", tool.Wire)
	}
	out := invoke(t, tool, call(map[string]any{"commands": []string{"echo a; cd /", "pwd >&2; exit 2"}}))
	dir := strings.TrimSpace(between(out.Text, "--- stderr ---\n", "=== "))
	want, err := json.Marshal([]any{
		map[string]any{"stdout": "a\n", "stderr": "", "outcome": map[string]any{"type": "exit", "exit_code": 0}},
		map[string]any{"stdout": "", "stderr": dir + "\n", "outcome": map[string]any{"type": "exit", "exit_code": 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var wanted, got any
	if err := errors.Join(json.Unmarshal(want, &wanted), json.Unmarshal(out.Native, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("native output (-want +got):\n%s", diff)
	}
	if !out.Failed || !strings.Contains(out.Text, "=== command 2 of 2 ===") {
		t.Errorf("got %q", out.Text)
	}
	cut := invoke(t, tool, call(map[string]any{"commands": []string{"seq 1000"}, "max_output_length": 40}))
	if len(cut.Native) > 200 || !strings.Contains(string(cut.Native), "left out") {
		t.Errorf("max_output_length is not kept: %s", cut.Native)
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
