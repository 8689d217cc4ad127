package shelltool

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnreadableProgram names a program that may be run and not read, as sudo is on some systems: the call can be asked
// about, and says that the content is not bound. As root, the thread gives up its rights to files for that.
func TestUnreadableProgram(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "shelltool") // others have to get there
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "closed"), []byte("#!/bin/sh\n"), 0o111); err != nil {
		t.Fatal(err)
	}
	d, err := Config{Workdir: dir, Env: map[string]string{"PATH": dir}}.check()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Getuid() == 0 {
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0) }()
	}
	facts, err := (&tool{d}).contents(t.Context(), request{scripts: []string{"closed; ./closed"}})
	if err != nil || len(facts) != 2 || facts[0] != "program ./closed cannot be read, content not bound" {
		t.Errorf("%q, %v", facts, err)
	}
}
