package patchtool_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/agent/patchtool"
)

// TestNobodyIsAskedAboutTheForbidden has a patch of a directory that this process may not change. As root, the thread
// gives up its rights to files for the question.
func TestNobodyIsAskedAboutTheForbidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"sealed/a": "x\n"})
	for _, name := range []string{dir + "/..", dir} { // others have to get there
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/sealed", 0o555); err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, patchtool.Config{Root: dir})
	for text, want := range map[string]string{
		update("sealed/a"):  `the directory of "sealed/a" cannot be changed: permission denied`,
		add("sealed/x/y/z"): `the directory of "sealed/x/y/z" cannot be changed: permission denied`,
	} {
		c := patch(t, "*** Begin Patch\n"+text+"*** End Patch")
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				t.Fatal(err)
			}
		}
		facts, err := tool.Preconditions(t.Context(), c)
		_ = unix.Setfsuid(os.Getuid())
		runtime.UnlockOSThread()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis asked about: %q, %v", text, facts, err)
		}
	}
}
