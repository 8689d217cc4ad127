package control

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"countersign/internal/lineage"
)

// Listen opens the socket of the store file. The caller holds the store's lock, so a socket that is there already was
// left behind and is replaced.
func Listen(store string, log *slog.Logger) (net.Listener, error) {
	path, err := SocketPath(store)
	if err != nil {
		return nil, err
	}
	return listenIn(path, log)
}

// listenIn opens the socket at the path, for the connections of this user and of root.
func listenIn(path string, log *slog.Logger) (net.Listener, error) {
	l, err := listenAt(path)
	for tries := 1; errors.Is(err, fs.ErrNotExist) && tries < 10; tries++ {
		l, err = listenAt(path) // another process has just taken away the runtime directory, which was empty
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return &guarded{Listener: l, folder: filepath.Dir(path), log: log}, nil
}

func listenAt(path string) (net.Listener, error) {
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

// prepare makes the runtime directory where it is used, and takes away a socket without a listener.
func prepare(path string) error {
	if folder := filepath.Dir(path); slices.Contains(runtimeFolders(), folder) {
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
	folder string
	log    *slog.Logger
}

// peerConn is a connection with the process at its other end.
type peerConn struct {
	net.Conn
	peer *lineage.Peer
}

// Accept waits for a connection that may speak.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, err := lineage.PeerOf(conn)
		switch {
		case err != nil:
			g.log.Warn("control connection refused", "error", err)
		case peer.UID != 0 && peer.UID != uint32(os.Getuid()):
			g.log.Warn("control connection refused", "uid", peer.UID)
			peer.Close()
		default:
			return &peerConn{conn, peer}, nil
		}
		conn.Close()
	}
}

// Close takes away the socket, and the runtime directory where it was the last one in it.
func (g *guarded) Close() error {
	err := g.Listener.Close()
	if slices.Contains(runtimeFolders(), g.folder) {
		os.Remove(g.folder) // fails where other sockets are
	}
	return err
}

// Close is part of net.Conn.
func (c *peerConn) Close() error { return errors.Join(c.Conn.Close(), c.peer.Close()) }
