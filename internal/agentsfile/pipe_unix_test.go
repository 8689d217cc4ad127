//go:build unix

package agentsfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadPipe reads from a pipe that nobody writes into, and from one that somebody does.
func TestReadPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Read(path, env)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "the file is empty") {
			t.Errorf("nobody writes: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for somebody who writes into the pipe")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := make(chan error, 1)
	go func() {
		_, err := w.WriteString("version: 1\nagents:\n  a: { instructions: x, model: m }\n")
		written <- errors.Join(err, w.Close())
	}()
	if _, err := Read(fmt.Sprintf("/dev/fd/%d", r.Fd()), env); err != nil {
		t.Errorf("somebody writes: %v", err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
