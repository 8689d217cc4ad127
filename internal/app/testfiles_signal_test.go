package app_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTestsInterrupted: a test that a signal cuts off has not failed, and no file is said to be unusable. One is cut
// off while a step waits for what does not come, and one before its bot has begun.
func TestTestsInterrupted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("agents.yaml", `version: 1
requesters: { channel_members: true }
agents: { clerk: { instructions: You ask., model: m, tools: [{ type: ask, name: ask, description: Asks. }] } }
default_policy: { approvers: { channel_members: true } }
`)
	file := write("agents_test.yaml", `version: 1
agents: agents.yaml
people: { ann: {}, ben: {} }
channels: { bills: { members: [ann, ben] } }
tests:
  - name: a long wait
    model:
      - { when: go, turns: [{ calls: [{ tool: ask, args: { question: Which?, options: [a, b], several: false } }] }] }
    steps: [{ mention: go, by: ann, cards: [{ name: q, tool: ask }], says: what never comes }]
    left_waiting: [q]
`)
	asked := func(temp string) bool {
		logs, err := filepath.Glob(filepath.Join(temp, "*", "bot.log"))
		if err != nil || len(logs) == 0 {
			return false
		}
		data, err := os.ReadFile(logs[0])
		return err == nil && bytes.Contains(data, []byte("request.created"))
	}
	begun := func(temp string) bool {
		made, err := os.ReadDir(temp)
		return err == nil && len(made) > 0
	}
	for name, ready := range map[string]func(temp string) bool{"while a step waits": asked, "at the start": begun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp, err := os.MkdirTemp("", "ct-") // short enough for the bot's socket, else the test is played elsewhere
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(temp)
			var out bytes.Buffer
			cmd := exec.Command(cli(t), "test", "--timeout", "2m", file)
			cmd.Env, cmd.Stdout, cmd.Stderr = []string{"TMPDIR=" + temp}, &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for end := time.Now().Add(patience); !ready(temp) && time.Now().Before(end); {
				<-tick.C
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			const want = "countersign: interrupted: the test \"a long wait\" was not played to its end; " +
				"0 played before it, 0 failed\n"
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(out.String(), want) ||
				strings.Contains(out.String(), "FAIL") {
				t.Errorf("exit code %d, want 1 and %q\n%s", code, want, out.String())
			}
		})
	}
}

// TestTestsInAFolderOfAnyLength: the bot's socket has its place whatever the folder for temporary files is called.
func TestTestsInAFolderOfAnyLength(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs(filepath.Join("..", "..", "examples", "countersign_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, long := range []int{50, 51, 56, 60, 90} {
		root, err := os.MkdirTemp("/tmp", "ct-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		temp := root + "/" + strings.Repeat("x", long-len(root)-1)
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(cli(t), "test", "--timeout", "30s", "--run", "rejected payment", file)
		cmd.Env = []string{"TMPDIR=" + temp}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%d bytes: %v\n%s", long, err, out)
		}
	}
}
