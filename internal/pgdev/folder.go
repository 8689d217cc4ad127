package pgdev

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// prefix begins the names of the folders; the process that uses one follows.
const prefix = "countersign-pg-"

// newFolder makes the folder of a server, with a path short enough for a socket in it, and removes those of processes
// that were killed.
func newFolder(owner *syscall.Credential) (string, error) {
	sweep()
	dir, err := os.MkdirTemp("/tmp", prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
		}
	}
	return dir, nil
}

func sweep() {
	left, _ := filepath.Glob("/tmp/" + prefix + "*")
	for _, dir := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(id)
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			os.RemoveAll(dir)
		}
	}
}
