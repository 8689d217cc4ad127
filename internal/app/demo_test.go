package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDemo plays the story that the README promises.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kept")
	cmd := exec.Command(binary(t), "demo", "--headless", "--keep", dir)
	cmd.Env = []string{"PATH=/nowhere", "OPENAI_API_KEY=" + canaryModel, "SLACK_BOT_TOKEN=" + canaryBot}
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || !strings.HasPrefix(lines[len(lines)-1], "audit: ok") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"kill -9", "Rejected", "Approved", "TR-0001", "decision.recorded"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("does not tell of %q", want)
		}
	}
	for _, name := range []string{"countersign.db", "countersign.yaml", "bot.log"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(data), canaryModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDemoExamples plays the stories of the examples, and leaves nothing behind.
func TestDemoExamples(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"countersign.yaml": {"Rejected", "TR-0001"},
		"operations.yaml": {"another one now", "kill -9", "Approved by <@U0CLEO>",
			"Approved by <@U0BEN>", "reloaded: workers = 8", "request.stale", "ticket NET-7"},
		"research.yaml": {"researcher", "editor", "kill -9", "Published as published/report.md",
			"decision.recorded"},
		"finance/finance.yaml": {"a controller", "kill -9", "Needs 1 more", "Approved by @Ben Brook and @Cleo Croft",
			"TR-0002"},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			home, elsewhere := t.TempDir(), t.TempDir()
			cmd := exec.Command(binary(t), "demo", "--headless", "--agents",
				filepath.Join("..", "..", "examples", name))
			cmd.Env = []string{"PATH=/nowhere", "TMPDIR=" + home, "WORKDIR=" + elsewhere,
				"OPENAI_API_KEY=" + canaryModel}
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || !strings.HasPrefix(lines[len(lines)-1], "audit: ok") {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("does not tell of %q:\n%s", want, out)
				}
			}
			for _, dir := range []string{home, elsewhere} {
				if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
					t.Errorf("the demo leaves %v behind: %v", entries, err)
				}
			}
		})
	}
}

// TestDemoOwnFile runs a file of one's own with the real model only, and says so.
func TestDemoOwnFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "operations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("own.yaml", strings.Replace(string(example), "expires_in: 4h", "expires_in: 5h", 1))
	w.write("wrong.yaml", "version: 1\nagnets: {}\n")
	w.write("windows.yaml", strings.ReplaceAll(string(example), "\n", "\r\n"))
	run := func(key, args string) (string, int) {
		cmd := exec.Command(binary(t), append([]string{"demo"}, strings.Fields(args)...)...)
		cmd.Dir, cmd.Env = w.dir, []string{"TMPDIR=" + t.TempDir(), "OPENAI_API_KEY=" + key,
			"OPENAI_BASE_URL=" + w.model.URL()}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		key, args, want string
		code            int
	}{
		{"", "--agents own.yaml", "own.yaml is not, or no longer, one of the files in examples/; " +
			"set OPENAI_API_KEY", 2},
		{"", "--agents own.yaml --headless", "leave --headless out", 2},
		{canaryModel, "--agents own.yaml --headless", "leave --headless out", 2},
		{"", "--agents absent.yaml", "absent.yaml", 2},
		{canaryModel, "--agents wrong.yaml", `wrong.yaml:2:1: unknown key "agnets"`, 2},
		{"", "--agents windows.yaml --headless", "audit: ok", 0},
	} {
		if out, code := run(c.key, c.args); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
	p := w.spawn(binary(t), []string{"TMPDIR=" + t.TempDir(), "OPENAI_API_KEY=" + canaryModel,
		"OPENAI_BASE_URL=" + w.model.URL()}, "demo", "--agents", "own.yaml")
	p.says("the real model")
	p.says("Stop: Ctrl-C")
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDemoControl fails where it cannot do what it is asked for.
func TestDemoControl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--keep", dir, "is not empty"},
		{"--listen", "nowhere", "--listen nowhere: "},
		{"--agents", dir, "is a directory"},
	} {
		cmd := exec.Command(binary(t), "demo", "--headless", c.flag, c.value)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s %s: %d\n%s", c.flag, c.value, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// TestDemoStays starts a killed bot again, and leaves none behind when it is killed itself.
func TestDemoStays(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := spawn(t, binary(t), home, []string{"TMPDIR=" + home}, "demo")
	p.says("Stop: Ctrl-C")
	var first, second int
	stated := regexp.MustCompile(`kill -9 (\d+)`).FindStringSubmatch(p.out.String())[1]
	if _, err := fmt.Sscan(stated, &first); err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(first); runtime.GOOS == "linux" && (err != nil || group != first) {
		t.Errorf("a Ctrl-C would reach the bot before the demo: its process group is %d, %v", group, err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.says("It is back, as process")
	stated = regexp.MustCompile(`as process (\d+)`).FindStringSubmatch(p.out.String())[1]
	if _, err := fmt.Sscan(stated, &second); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		p.kill()
		for deadline := time.Now().Add(patience); syscall.Kill(second, 0) == nil && !zombie(second); {
			if time.Now().After(deadline) {
				t.Fatal("the bot outlives the demo")
			}
			<-time.After(10 * time.Millisecond)
		}
		return
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// zombie reports whether the process has ended and only its parent has not noticed.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestDemoEnds removes everything at an interrupt.
func TestDemoEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := spawn(t, binary(t), home, []string{"TMPDIR=" + home}, "demo")
	p.says("Stop: Ctrl-C")
	if entries, _ := os.ReadDir(home); len(entries) != 1 {
		t.Errorf("the demo works in %v", entries)
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("the demo leaves %v behind", entries)
	}
}
