package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"countersign/store"
)

// Several replicas of the bot may work on one database, also on one machine, and there is no file to put a socket
// beside. Each has one of its own in the user's runtime directory; its name begins with a hash of where the database
// is. Commands take the first that answers: what the desks of replicas do is the same.

// sharedPrefix begins the names of the sockets of all replicas that work on the database.
func sharedPrefix(url string) (string, error) {
	at, err := store.PlaceOf(url)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(at.Database))
	return hex.EncodeToString(sum[:8]) + "-", nil
}

// ListenShared opens a socket for one replica on the database that the URL names.
func ListenShared(url string, log *slog.Logger) (net.Listener, error) {
	prefix, err := sharedPrefix(url)
	if err != nil {
		return nil, err
	}
	name := prefix + strings.ToLower(rand.Text()[:8]) + ".sock"
	for _, folder := range runtimeFolders() {
		if path := filepath.Join(folder, name); len(path) <= longest {
			return listenIn(path, log)
		}
	}
	return nil, errors.New("control socket: every folder for it has too long a path")
}

// sockets lists those of a folder that belongs to this user alone.
func sockets(folder, prefix string) (paths []string, err error) {
	if err := ownedAlone(folder); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.Type() == fs.ModeSocket {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, err
}

// DialShared reaches a replica on this machine that works on the database, or returns ErrNotRunning.
func DialShared(ctx context.Context, url string) (*Client, error) {
	prefix, err := sharedPrefix(url)
	if err != nil {
		return nil, err
	}
	last := fmt.Errorf("%w on this machine", ErrNotRunning)
	for _, folder := range runtimeFolders() {
		paths, err := sockets(folder, prefix)
		if err != nil {
			continue // nobody can have put one there, or anybody could
		}
		for _, path := range paths {
			client, err := dialAt(ctx, path)
			if errors.Is(err, syscall.ECONNREFUSED) {
				os.Remove(path) // a replica that was killed has left it behind
			}
			if err == nil {
				err = client.alive(ctx, aliveTime)
			}
			if err == nil || !errors.Is(err, ErrNotRunning) {
				return client, err
			}
			last = err
		}
	}
	return nil, last
}

// aliveTime is how long a replica may take to say that it is there. One that is stopped, or hangs, never does: the
// system takes the connection in its place.
const aliveTime = 2 * time.Second

// alive returns ErrNotRunning, and closes the client, when nobody answers in time.
func (c *Client) alive(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://countersign/v1/alive", nil)
	if err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.Close()
		return fmt.Errorf("%w: nobody answers at %s: %w", ErrNotRunning, c.path, err)
	}
	return resp.Body.Close() // whatever it says: a refusal is told to the command itself
}

// runtimeFolders are where a replica of this user may have put its socket: the bot and the command may have been given
// different environments.
func runtimeFolders() []string {
	var all []string
	for _, folder := range []string{runtimeFolder(), temporaryFolder(), filepath.Join("/tmp", userFolder())} {
		if !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}
