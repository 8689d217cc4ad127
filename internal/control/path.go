package control

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// longest is how long the path of a socket may be; the system's limit is 108 bytes on Linux and 104 elsewhere.
const longest = 100

// SocketPath returns where the socket of the store file is: beside it, or, when that path is too long for a socket,
// in the user's runtime directory under a hash of the path.
func SocketPath(store string) (string, error) {
	beside, name, err := socketName(store)
	if err != nil {
		return "", err
	}
	if name == "" {
		return beside, nil
	}
	return filepath.Join(runtimeFolder(), name), nil
}

// socketName returns the path of the socket beside the store file or, when that is too long, the name of the socket in
// a runtime directory.
func socketName(store string) (beside, name string, err error) {
	abs, err := absolute(store)
	if err != nil {
		return "", "", fmt.Errorf("path of the control socket: %w", err)
	}
	if path := abs + ".sock"; len(path) <= longest {
		return path, "", nil
	}
	sum := sha256.Sum256([]byte(abs))
	return "", hex.EncodeToString(sum[:16]) + ".sock", nil
}

// absolute returns the path of a file from the root on. Its folder may be reached by several names; the file must have
// one socket. What is above a folder that a symbolic link leads to shows only when the links are followed.
func absolute(path string) (string, error) {
	folder, base := filepath.Split(path)
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		folder = here + string(filepath.Separator) + folder
	}
	if found, err := filepath.EvalSymlinks(folder); err == nil {
		folder = found
	}
	return filepath.Join(folder, base), nil
}

func runtimeFolder() string {
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		return filepath.Join(folder, "countersign")
	}
	return temporaryFolder()
}

func userFolder() string { return "countersign-" + strconv.Itoa(os.Getuid()) }

func temporaryFolder() string {
	return filepath.Join(os.TempDir(), userFolder())
}
