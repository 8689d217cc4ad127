//go:build unix

package shelltool

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMagicLinks follows links to /proc, by the system's own word and without it.
func TestMagicLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"plain": "p", "sub/up": "../plain", "cwd": "/proc/self/cwd", "sub/far": "../cwd", "round": "round",
		"fd": "/dev/fd",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"p": false, "plain": false, "sub/up": false, "sub/../plain": false, "none": false, "none/x": false,
		"cwd/magic_test.go": true, "sub/far/magic_test.go": true, "round": true, "fd/0": true,
	} {
		path := dir + "/" + name
		if got := throughProc(path); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if got := magic(path); got != want && runtime.GOOS == "linux" {
			t.Errorf("%s, as the system says: %v", name, got)
		}
	}
}
