package shelltool

import (
	"os"
	"path/filepath"
	"strings"
)

// throughProc follows a path link by link, and reports whether it goes by way of /proc or /dev/fd, or in circles.
func throughProc(path string) bool {
	for range 40 {
		if strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/") {
			return true
		}
		next, ok := firstLink(path)
		if !ok {
			return false
		}
		path = next
	}
	return true
}

// firstLink puts the target of the first link in a path in its place, if there is one.
func firstLink(path string) (string, bool) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		target, err := os.Readlink(path[:i])
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Dir(path[:i]) + "/" + target
		}
		return target + path[i:], true
	}
	return "", false
}
