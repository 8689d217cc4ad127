// Command planted shows that the suite can fail: it lays one known bug at a time over the code ("go test -overlay"; no
// file of the tree changes) and runs the tests that must notice. bugs.go is the table; a refactoring that rewrites a
// line named there edits the table in the same commit, and this package's own tests say when that was forgotten.
//
//	go run ./internal/planted             # all of them, from the root of the module
//	go run ./internal/planted no_digest j # some, by name
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

// run tries the named bugs, or all, in the module that is the working directory. It goes on after a bug that nobody
// noticed, so that one run tells of all of them.
func run(ctx context.Context, names []string, out io.Writer) error {
	for _, name := range names {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.name == name }) {
			return fmt.Errorf("no bug is named %q", name)
		}
	}
	var all error
	for _, b := range bugs {
		if len(names) > 0 && !slices.Contains(names, b.name) {
			continue
		}
		red, err := b.try(ctx, ".")
		if err != nil {
			err = fmt.Errorf("%s (%s): %w", b.name, b.what, err)
			fmt.Fprintln(out, err)
			all = errors.Join(all, err)
			continue
		}
		fmt.Fprintf(out, "%s (%s): tests that found it: %d\n", b.name, b.what, len(red))
	}
	return all
}
