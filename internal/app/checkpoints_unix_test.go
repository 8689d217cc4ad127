//go:build unix

package app

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestCheckpointFolderThatHangs: a folder that does not answer holds nobody up for longer than they wait, and what was
// written to it meanwhile arrives when it answers. A pipe that nobody reads stands for it.
func TestCheckpointFolderThatHangs(t *testing.T) {
	t.Parallel()
	_, key := writeKey(t, 0o600)
	dir := t.TempDir()
	name := filepath.Join(dir, "checkpoints-T1.jsonl")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newCheckpointFolder(dir)
	head := &approvals.AuditEntry{Workspace: "T1", Seq: 7, Hash: agent.Digest{1}}
	c := approvals.NewCheckpoint(head, time.Unix(7, 0), nil, key)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var hangs bool
	for range 100 { // a try may not even begin when its time is over already
		err := d.KeepCheckpoint(ctx, c)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("while it hangs: %v, want context.Canceled", err)
		}
		hangs = hangs || strings.Contains(err.Error(), "does not answer")
	}
	if !hangs {
		t.Fatal("no try was begun")
	}
	kept := make(chan error, 1)
	go func() { kept <- d.KeepCheckpoint(t.Context(), c) }()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for line := ""; !strings.Contains(line, `"seq":7`); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-kept; err != nil && !errors.Is(err, syscall.EINVAL) { // a pipe cannot be synced
		t.Errorf("when it answers: %v", err)
	}
}

// TestAuditKeyIsAPipe: a pipe that nobody writes into is refused like a folder, and does not hold up the start.
func TestAuditKeyIsAPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "audit.pem")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := (&Config{AuditKey: name}).signingKey()
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "is no file") {
			t.Errorf("a pipe as key: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a pipe as key holds up the start")
	}
}
