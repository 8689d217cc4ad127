package procgroup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCannotLookIntoThisProcess has a command try to open this process's memory. That root could, is the control; what
// keeps a user's commands from it is the business of whoever is looked into.
func TestCannotLookIntoThisProcess(t *testing.T) {
	t.Parallel()
	if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_PTRACE, 0, 0, 0); err != nil || has == 0 ||
		os.Geteuid() != 0 {
		t.Skip("this process has no right that it could give up: " +
			"it is not root, or in a container without CAP_SYS_PTRACE")
	}
	look := func() (*exec.Cmd, *bytes.Buffer) {
		var out bytes.Buffer
		script := fmt.Sprintf("(exec 3</proc/%d/mem) 2>/dev/null && echo mem; cat /proc/self/comm", os.Getpid())
		return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Stdout: &out}, &out
	}
	cmd, out := look()
	g, err := Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil || out.String() != "cat\n" {
		t.Errorf("it opened %q, %v", out, err)
	}
	free, out := look()
	if err := free.Run(); err != nil || out.String() != "mem\ncat\n" {
		t.Errorf("control: a command that is started otherwise opened %q, %v", out, err)
	}
	if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_PTRACE, 0, 0, 0); err != nil || has != 1 {
		t.Errorf("control: this thread has lost the right too: %d, %v", has, err)
	}
}
