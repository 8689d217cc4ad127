package control

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
)

// Listen opens the socket of the store file. The caller holds the store's lock, so a socket that is there already was
// left behind and is replaced.
func Listen(store string, log *slog.Logger) (net.Listener, error) {
	path, err := SocketPath(store)
	if err != nil {
		return nil, err
	}
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return &guarded{Listener: l, log: log}, nil
}

// prepare makes the runtime directory where it is used, and takes away a socket without a listener.
func prepare(path string) error {
	if folder := filepath.Dir(path); folder == runtimeFolder() {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := ownedAlone(folder); err != nil {
			return err
		}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("something that is no socket is in its place; move it away")
	}
	return os.Remove(path)
}

// guarded lets in connections of the process's own user and of root.
type guarded struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection that may speak.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peer(conn)
		if err == nil && (uid == 0 || uid == uint32(os.Getuid())) {
			return conn, nil
		}
		g.log.Warn("control connection refused", "uid", uid, "error", err)
		conn.Close()
	}
}
