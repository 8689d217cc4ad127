package procsecret_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/procsecret"
)

const (
	secret = "xoxb-4711-hunter2"
	mode   = "PROCSECRET_TEST_MODE"
)

// TestMain makes the test binary the process with a secret, or a program that it starts.
func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "":
		os.Exit(m.Run())
	case "hides", "hides not":
		if os.Getenv(mode) == "hides" {
			if err := procsecret.Hide(); err != nil {
				fmt.Println("hide:", err)
			}
		}
		if os.Getenv("TOKEN") != secret {
			fmt.Println("the process itself has lost it")
		}
		look := exec.Command("/proc/self/exe")
		look.Env = []string{mode + "=looks"}
		look.Stdout = os.Stdout
		if err := look.Run(); err != nil {
			fmt.Println("start:", err)
		}
		runtimeFacts()
	case "looks":
		parent := fmt.Sprintf("/proc/%d/", os.Getppid())
		environ, err := os.ReadFile(parent + "environ")
		switch {
		case bytes.Contains(environ, []byte(secret)):
			fmt.Println("environ: read")
		case err != nil:
			fmt.Println("environ: refused")
		default:
			fmt.Println("environ: empty")
		}
		mem, err := os.Open(parent + "mem")
		if err == nil {
			fmt.Println("mem: open")
			mem.Close()
		} else {
			fmt.Println("mem: refused")
		}
	}
}

// runtimeFacts does what a program does with its own /proc.
func runtimeFacts() {
	if _, err := os.Executable(); err != nil {
		fmt.Println("executable:", err)
	}
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		fmt.Println("descriptors:", err)
	}
	f, err := os.Open("/proc/self/exe") // as commands are started from a file that was opened
	if err == nil {
		cmd := exec.Command(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		cmd.Env = []string{mode + "=nothing"}
		err = cmd.Run()
	}
	if err != nil {
		fmt.Println("start by descriptor:", err)
	}
	for _, name := range []string{"stat", "status", "limits", "cgroup", "mountinfo", "maps"} {
		if f, err := os.Open("/proc/self/" + name); err == nil {
			_, err = io.Copy(io.Discard, f)
			f.Close()
			if err != nil {
				fmt.Println(name+":", err)
			}
		}
	}
}

// TestHide has a process start a program that looks for its secret, as root, which may look anywhere, and as a user.
func TestHide(t *testing.T) {
	t.Parallel()
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "procsecret") // others have to get there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := dir + "/test"
	if err := os.WriteFile(binary, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(what string, as *syscall.Credential) string {
		t.Helper()
		cmd := exec.Command(binary)
		cmd.Dir = "/"
		cmd.Env = []string{mode + "=" + what, "TOKEN=" + secret, "OTHER=" + strings.Repeat("x", 5000)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	user := (*syscall.Credential)(nil)
	if os.Getuid() == 0 {
		user = &syscall.Credential{Uid: 65534, Gid: 65534}
		if got := run("hides", nil); !strings.HasPrefix(got, "environ: empty\n") &&
			!strings.HasPrefix(got, "environ: refused\n") {
			t.Errorf("as root: %s", got)
		}
	}
	if got, want := run("hides", user), "environ: refused\nmem: refused\n"; got != want {
		t.Errorf("as a user: %s, want %s", got, want)
	}
	if got, want := run("hides not", user), "environ: read\nmem: open\n"; got != want {
		t.Errorf("control: %s, want %s", got, want)
	}
}
