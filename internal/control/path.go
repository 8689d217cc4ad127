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
	abs, err := filepath.Abs(store)
	if err != nil {
		return "", fmt.Errorf("path of the control socket: %w", err)
	}
	// The folder may be reached by several names; its file must have one socket.
	if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(folder, filepath.Base(abs))
	}
	if path := abs + ".sock"; len(path) <= longest {
		return path, nil
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(runtimeFolder(), hex.EncodeToString(sum[:16])+".sock"), nil
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
