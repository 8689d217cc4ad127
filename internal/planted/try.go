package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// What can be wrong with a bug or with the suite.
var (
	errBuild     = errors.New("it does not compile")
	errUnnoticed = errors.New("planted, and no test noticed")
	errNoTest    = errors.New("failed, but not by a test")
	errOthers    = errors.New("tests that are about something else turned red")
)

// shared is a list for "go test -overlay" with several bugs in it.
type shared struct {
	root string
	list string
	in   map[string]bool // the bugs that are there, by name
}

// share lays the bugs that can be there together over the code of the module at root, in files in dir, and compiles
// what their tests need.
func share(ctx context.Context, root, dir string, bugs []bug) (shared, error) {
	files, in, err := together(root, bugs)
	if err != nil {
		return shared{}, err
	}
	s := shared{root: root, in: in}
	if s.list, err = overlay(dir, files); err != nil {
		return shared{}, err
	}
	var packages []string
	for _, b := range bugs {
		if in[b.name] && !slices.Contains(packages, b.test[0]) {
			packages = append(packages, b.test[0])
		}
	}
	if len(packages) == 0 {
		return s, nil
	}
	out, err := goTest(ctx, root, s.list, append([]string{"-run", "^$"}, packages...)).CombinedOutput()
	if err != nil {
		return shared{}, fmt.Errorf("all that can be there together: %w:\n%s", errBuild, tail(string(out), 20))
	}
	return s, nil
}

// goTest is a command that runs tests of the module at root with the code of the list. It does not ask go vet, which
// may say of a bug what only tests shall.
func goTest(ctx context.Context, root, list string, args []string) *exec.Cmd {
	args = append([]string{"test", "-vet=off", "-count=1", "-overlay", list}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	return cmd
}

// try runs the tests that must notice the bug, and returns those that did.
func (s shared) try(ctx context.Context, b bug) (red []string, err error) {
	if s.in[b.name] {
		return b.run(ctx, s.root, s.list)
	}
	changed, err := b.changed(s.root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	list, err := overlay(dir, changed)
	if err != nil {
		return nil, err
	}
	return b.run(ctx, s.root, list)
}

func (b bug) run(ctx context.Context, root, list string) (red []string, err error) {
	cmd := goTest(ctx, root, list, append([]string{"-json"}, b.test...))
	cmd.Env = append(os.Environ(), variable+"="+b.name)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return nil, err
	} else if ok && len(out) == 0 {
		return nil, fmt.Errorf("go test: %s", exit.Stderr)
	}
	return b.judge(out, err == nil)
}

// event is one line of "go test -json".
type event struct{ Action, Test, Output string }

// judge reads what "go test -json" wrote and returns the tests that noticed the bug.
func (b bug) judge(out []byte, passed bool) (red []string, err error) {
	if passed {
		return nil, errUnnoticed
	}
	var text strings.Builder
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go test: %w", err)
		}
		text.WriteString(e.Output)
		switch {
		case e.Action == "build-fail":
			return nil, fmt.Errorf("%w:\n%s", errBuild, text.String())
		case e.Action == "fail" && e.Test != "":
			red = append(red, e.Test)
		}
	}
	if red = leaves(red); len(red) == 0 {
		return nil, fmt.Errorf("%w:\n%s", errNoTest, tail(text.String(), 20))
	}
	others := slices.DeleteFunc(slices.Clone(red), func(t string) bool { return strings.HasPrefix(t, b.red) })
	if len(others) > 0 {
		return nil, fmt.Errorf("%w: %s", errOthers, strings.Join(others, ", "))
	}
	return red, nil
}

// leaves leaves out the tests that failed because a subtest did.
func leaves(red []string) []string {
	return slices.DeleteFunc(slices.Clone(red), func(t string) bool {
		return slices.ContainsFunc(red, func(o string) bool { return strings.HasPrefix(o, t+"/") })
	})
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
