// Command planted shows that the suite can fail: it lays known bugs over the code ("go test -overlay"; no file of the
// tree changes) and runs, with one of them at a time, the tests that must notice. Most bugs are compiled together, each
// behind a condition that the environment of its tests makes true. bugs.go is the table; a refactoring that rewrites a
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

// atOnce is how many bugs are tried at the same time: one test waits for the clock or the disk while another is built.
const atOnce = 3

// run tries the named bugs, or all, in the module that is the working directory. It goes on after a bug that nobody
// noticed, so that one run tells of all of them, in the order of the table.
func run(ctx context.Context, names []string, out io.Writer) error {
	for _, name := range names {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.name == name }) {
			return fmt.Errorf("no bug is named %q", name)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool {
		return len(names) > 0 && !slices.Contains(names, b.name)
	})
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := share(ctx, ".", dir, chosen)
	if err != nil {
		return err
	}
	var all error
	for i, told := range s.tryAll(ctx, chosen) {
		b, found := chosen[i], <-told
		if found.err != nil {
			err := fmt.Errorf("%s (%s): %w", b.name, b.what, found.err)
			fmt.Fprintln(out, err)
			all = errors.Join(all, err)
			continue
		}
		fmt.Fprintf(out, "%s (%s): tests that found it: %d\n", b.name, b.what, len(found.red))
	}
	return all
}

// found is what became of a bug: the tests that noticed it.
type found struct {
	red []string
	err error
}

// tryAll tries the bugs in their order, atOnce at a time, and returns for each where the result will be.
func (s shared) tryAll(ctx context.Context, bugs []bug) []chan found {
	told := make([]chan found, len(bugs))
	for i := range bugs {
		told[i] = make(chan found, 1)
	}
	turns := make(chan struct{}, atOnce)
	go func() {
		for i, b := range bugs {
			turns <- struct{}{}
			go func() {
				defer func() { <-turns }()
				red, err := s.try(ctx, b)
				told[i] <- found{red, err}
			}()
		}
	}()
	return told
}
