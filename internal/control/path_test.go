package control

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longStore returns the path of a store whose socket is in the runtime directory. That and the folder for temporary
// files are the test's own.
func longStore(t *testing.T) string {
	t.Helper()
	top, err := os.MkdirTemp("", "cs") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	deep := filepath.Join(top, strings.Repeat("long/", 30))
	for _, folder := range []string{deep, filepath.Join(top, "run"), filepath.Join(top, "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(top, "run"))
	t.Setenv("TMPDIR", filepath.Join(top, "tmp"))
	return filepath.Join(deep, "x.db")
}

// TestLongPathOfAnotherEnvironment: the bot and the command may have been given different environments, as by a service
// manager and a login.
func TestLongPathOfAnotherEnvironment(t *testing.T) {
	store := longStore(t)
	mine := os.Getenv("XDG_RUNTIME_DIR")
	os.Unsetenv("XDG_RUNTIME_DIR")
	l, err := Listen(store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(answerAll(l))
	os.Setenv("XDG_RUNTIME_DIR", mine)
	client, err := Dial(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

// TestSocketOfAnybody: a command does not speak to whoever has put a socket where the bot's would be.
func TestSocketOfAnybody(t *testing.T) {
	store := longStore(t)
	path, err := SocketPath(store)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(path)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(answerAll(l))
	for mode, mine := range map[os.FileMode]bool{0o700: true, 0o777: false} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		client, err := Dial(t.Context(), store)
		if err == nil {
			client.Close()
		}
		if (err == nil) != mine || err != nil && !errors.Is(err, ErrNotRunning) {
			t.Errorf("the socket in a folder with the mode %v: %v", mode, err)
		}
	}
}

// TestSocketOfTheStoresOwner: root asks the bot of whoever owns the store, and nobody else's.
func TestSocketOfTheStoresOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root speaks to the bots of others")
	}
	store := longStore(t)
	l, err := Listen(store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(answerAll(l))
	if err := os.WriteFile(store, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const bot = 12345
	for _, file := range []string{runtimeFolder(), store} {
		if err := os.Chown(file, bot, -1); err != nil {
			t.Fatal(err)
		}
		client, err := Dial(t.Context(), store)
		if err == nil {
			client.Close()
		}
		if (err == nil) != (file == store) || err != nil && !errors.Is(err, ErrNotRunning) {
			t.Errorf("with %s another user's: %v", file, err)
		}
	}
}

// answerAll answers whatever is asked, and returns what ends that.
func answerAll(l net.Listener) (end func()) {
	srv := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	return func() {
		srv.Close()
		<-ended
	}
}
