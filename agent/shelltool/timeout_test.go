//go:build unix

package shelltool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
)

// stopped runs a call whose time is up as soon as the file named there is in its directory, however long that takes.
func stopped(t *testing.T, cfg Config, arguments any) (out agent.ToolOutput, dir string) {
	t.Helper()
	cfg.Workdir, cfg.Timeout = t.TempDir(), time.Minute
	d, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	x := &tool{d}
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.request(raw)
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	processes, err := x.processes(r, p)
	if err != nil {
		t.Fatal(err)
	}
	bounded, up := context.WithCancelCause(t.Context())
	defer up(nil)
	go func() {
		for bounded.Err() == nil {
			if _, err := os.Stat(filepath.Join(d.Workdir, "there")); err == nil {
				up(errTimeout)
			}
			runtime.Gosched()
		}
	}()
	if out, err = x.run(t.Context(), bounded, r, processes); err != nil {
		t.Fatal(err)
	}
	return out, d.Workdir
}

const upText = "[Stopped: the call's time of 1m0s was up. What the command did until then is done.]"

// TestTimeout stops commands in the middle: what they printed is told, and nothing of them lives on.
func TestTimeout(t *testing.T) {
	t.Parallel()
	t.Run("with a grandchild that ignores signals and holds the output open", func(t *testing.T) {
		t.Parallel()
		out, dir := stopped(t, Config{}, map[string]string{
			"script": `sh -c 'trap "" TERM HUP INT; echo $$ > pid; while :; do sleep 1000; done' & ` +
				`while [ ! -s pid ]; do :; done; echo started; : > there; wait`,
		})
		if want := upText + "\n--- stdout ---\nstarted"; out.Text != want || !out.Failed {
			t.Errorf("got %q, want %q", out.Text, want)
		}
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		for syscall.Kill(pid, 0) == nil {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err == nil && strings.Contains(string(stat), ") Z ") {
				break // nobody waits for it
			}
			if t.Context().Err() != nil {
				t.Fatalf("process %d still runs", pid)
			}
			runtime.Gosched()
		}
	})
	t.Run("with output without an end", func(t *testing.T) {
		t.Parallel()
		out, _ := stopped(t, Config{MaxOutput: 1000}, map[string]string{
			"script": `yes | head -c 200000; : > there; exec yes`,
		})
		if !strings.HasPrefix(out.Text, upText) || !strings.Contains(out.Text, "left out") || len(out.Text) > 1400 {
			t.Errorf("got %q", out.Text)
		}
	})
	t.Run("of several commands", func(t *testing.T) {
		t.Parallel()
		out, _ := stopped(t, Config{Native: true}, map[string]any{
			"commands": []string{"echo first", "echo second; : > there; sleep 1000", "echo never"},
		})
		var got []nativeResult
		if err := json.Unmarshal(out.Native, &got); err != nil {
			t.Fatal(err)
		}
		ended := 0
		want := []nativeResult{
			{Stdout: "first\n", Outcome: outcome{Type: "exit", ExitCode: &ended}},
			{Stdout: "second\n", Stderr: upText, Outcome: outcome{Type: "timeout"}},
			{Stderr: "[The command was not started: the time for the call was used up before.]",
				Outcome: outcome{Type: "timeout"}},
		}
		if diff := cmp.Diff(want, got); diff != "" || !out.Failed || strings.Contains(out.Text, "never") {
			t.Errorf("native output (-want +got):\n%s\ntext %q", diff, out.Text)
		}
	})
}

// TestTimeoutOfACall makes sure that the time is that of the call or of the tool.
func TestTimeoutOfACall(t *testing.T) {
	t.Parallel()
	made, err := New(Config{Workdir: t.TempDir(), Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	asking, err := New(Config{Workdir: t.TempDir(), Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, tool := range map[string]agent.Tool{
		`{"script":"sleep 1000"}`: made, `{"script":"sleep 1000","timeout_seconds":1}`: asking,
	} {
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(arguments)})
		if want := strings.Replace(upText, "1m0s", "1s", 1); err != nil || out.Text != want || !out.Failed {
			t.Errorf("%s: got %q, %v", arguments, out.Text, err)
		}
	}
}
