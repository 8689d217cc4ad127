package pgdev

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ErrAbsent is returned when PostgreSQL's server is not installed.
var ErrAbsent = errors.New(
	"PostgreSQL's server is not installed: install the package postgresql, or put initdb and postgres on the PATH")

// binary finds one of the server's programs: those that Debian installs, the newest version first, then the PATH's.
func binary(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return found[0], nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", ErrAbsent
	}
	return path, nil
}

// version reads the major version out of the path of a binary.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// account is whom the server runs as: PostgreSQL refuses root. Nil: as this process.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// Programs is the folder of the server's programs; empty where they are on the PATH or not installed.
func Programs() string {
	path, err := binary("pg_dump")
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}
