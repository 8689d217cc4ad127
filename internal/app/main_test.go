package app_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"countersign/internal/pgdev"
)

var long = flag.Bool("long", false, "also kill the program at every crash point, and at random moments")

// onStore says which store the worlds of the tests have: each a file of its own, or a database.
var onStore = flag.String("store", "bolt", "the store of the tests: bolt or postgres")

// binaries are the program, built once as it is, once with crash points, and once as if it were the next version.
var binaries struct{ plain, faults, next func() (string, error) }

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBinaries(m.Run))
}

func withBinaries(run func() int) int {
	dir, err := os.MkdirTemp("", "countersign-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	defer pgdev.StopShared()
	binaries.plain = sync.OnceValues(func() (string, error) { return build(filepath.Join(dir, "plain")) })
	binaries.faults = sync.OnceValues(func() (string, error) {
		return build(filepath.Join(dir, "faults"), "-tags", "faults")
	})
	binaries.next = sync.OnceValues(func() (string, error) {
		return build(filepath.Join(dir, "next"), "-tags", "nextformat")
	})
	return run()
}

// build builds the program of this module. Under the race detector the program is built with it too.
func build(path string, flags ...string) (string, error) {
	args := append([]string{"build", "-o", path}, flags...)
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "countersign")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := binaries.plain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
