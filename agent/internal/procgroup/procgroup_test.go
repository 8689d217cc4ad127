//go:build linux || darwin || freebsd || netbsd || openbsd

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBusyProgram starts a program that is open for writing: it is tried again until it is not, and no longer than it
// is to.
func TestBusyProgram(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skipf("no program to copy: %v", err)
	}
	file := filepath.Join(t.TempDir(), "program")
	writer, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = writer.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cmd := &exec.Cmd{Path: file, Args: []string{"program"}}
	if _, err := start(cmd, func() bool { return false }); !errors.Is(err, syscall.ETXTBSY) {
		t.Skipf("a program that is being written starts on this system: %v", err)
	}
	attempts := 0
	g, err := start(cmd, func() bool {
		if attempts++; attempts == 3 {
			writer.Close()
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	// More attempts are right too: what another test forks meanwhile has the file open until it has become its program.
	if err := g.Wait(); err != nil || attempts < 3 || !g.State().Success() {
		t.Errorf("started after %d attempts, ended with %v", attempts, err)
	}
}
