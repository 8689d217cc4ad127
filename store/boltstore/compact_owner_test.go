//go:build unix

package boltstore

import (
	"os"
	"syscall"
	"testing"
)

// TestCompactKeepsTheOwner compacts somebody else's file: they can still open it.
func TestCompactKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path, _ := sampleFile(t)
	if err := os.Chown(path, 12345, 23456); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), path, CompactConfig{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 12345 || st.Gid != 23456 {
		t.Errorf("the file belongs to %+v", info.Sys())
	}
}

// TestReplaceKeepsTheOwner puts a file of root's in the place of somebody else's store: they can still open it.
func TestReplaceKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path, _ := sampleFile(t)
	if err := os.Chown(path, 12345, 23456); err != nil {
		t.Fatal(err)
	}
	from := path + ".new"
	if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, from, path+".old"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".old"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 12345 || st.Gid != 23456 {
			t.Errorf("%s belongs to %+v", name, info.Sys())
		}
	}
}
