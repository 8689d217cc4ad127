package boltstore

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"countersign/approvals"
)

var long = flag.Bool("long", false, "also run what takes minutes")

// children are the programs that tests run in a process of their own, by killing it or by seeing whether it survives.
var children = map[string]func(args []string) error{
	"commit":  commitForever,
	"hold":    holdOpen,
	"damage":  surviveDamage,
	"migrate": migrateNoisily,
	"compact": compactNoisily,
	"canary":  commitCanaries,
}

const childVariable = "COUNTERSIGN_BOLTSTORE_CHILD"

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVariable)]; child != nil {
		if err := child(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startChild starts the test binary as the named child.
func startChild(t *testing.T, name string, args ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if _, err := cmd.StdinPipe(); err != nil { // open as long as the child is there
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// request is one with the least it needs.
func request(id approvals.RequestID, run approvals.RunID, status approvals.RequestStatus) *approvals.Request {
	r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: id, Run: run, Status: status}}
	r.Arguments = []byte(`{"amount":100}`)
	return r
}

func put(n int) func(approvals.Tx) error {
	return func(tx approvals.Tx) error {
		return tx.PutEffect(&approvals.EffectRecord{
			Workspace: "T1", Run: "run_1", ID: fmt.Sprintf("%06d", n), Attempt: n,
		})
	}
}

func has(t testing.TB, s *Store, n int) bool {
	t.Helper()
	var err error
	verr := s.View(t.Context(), func(tx approvals.Tx) error {
		_, err = tx.Effect("T1", "run_1", fmt.Sprintf("%06d", n))
		return nil
	})
	if verr != nil || err != nil && !errors.Is(err, approvals.ErrNotFound) {
		t.Fatal(verr, err)
	}
	return err == nil
}
