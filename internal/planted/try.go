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

// try runs the tests of the module at root with the bug in it and returns those that noticed.
func (b bug) try(ctx context.Context, root string) (red []string, err error) {
	changed, err := b.changed(root)
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
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-overlay", list}, b.test...)...)
	cmd.Dir = root
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
