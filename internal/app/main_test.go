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
	"countersign/internal/raceflag"
)

var long = flag.Bool("long", false, "also kill the program at every crash point, and at random moments")

// onStore says which store the worlds of the tests have: each a file of its own, or a database.
var onStore = pgdev.StoreFlag()

// binaries are the program, built once as it is, once with crash points, and once as if it were the next version. For
// commands there are two that are never built with the race detector: they do one thing after the other, and it takes
// longer to start than they do.
var binaries struct{ plain, faults, next, command, faultyCommand func() (string, error) }

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBinaries(func() int { return pgdev.Run(m) }))
}

func withBinaries(run func() int) int {
	dir, err := os.MkdirTemp("", "countersign-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built := func(name string, detects bool, flags ...string) func() (string, error) {
		return sync.OnceValues(func() (string, error) { return build(filepath.Join(dir, name), detects, flags...) })
	}
	binaries.plain = built("plain", raceflag.Enabled)
	binaries.faults = built("faults", raceflag.Enabled, "-tags", "faults")
	binaries.next = built("next", raceflag.Enabled, "-tags", "nextformat")
	binaries.command, binaries.faultyCommand = binaries.plain, binaries.faults
	if raceflag.Enabled {
		binaries.command = built("command", false)
		binaries.faultyCommand = built("faulty-command", false, "-tags", "faults")
	}
	return run()
}

// build builds the program of this module; one that detects has the race detector.
func build(path string, detects bool, flags ...string) (string, error) {
	args := append([]string{"build", "-o", path}, flags...)
	if detects {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "countersign")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// binary is the program for what runs a bot: under the race detector it is built with it too.
func binary(t *testing.T) string {
	t.Helper()
	return must(t, binaries.plain)
}

// cli is the program for commands.
func cli(t *testing.T) string {
	t.Helper()
	return must(t, binaries.command)
}

func must(t *testing.T, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
