// Command peers runs the Go programs that bench/ compares with, each in a process of its own, and prints figures in
// JSON. It is a module of its own so that the program does not depend on its peers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

const synopsis = `usage:
  peers state ITEMS...
  peers cycle bbolt|file URL DIR TOTAL WIDTH
  peers plain URL TOTAL WIDTH`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 6 && args[0] == "cycle":
		n, err := numbers(args[4:])
		if err != nil {
			return err
		}
		return cycles(ctx, args[1], args[2], args[3], n[0], n[1])
	case len(args) == 4 && args[0] == "plain":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return plain(ctx, args[1], n[0], n[1])
	case len(args) > 1 && args[0] == "state":
		n, err := numbers(args[1:])
		if err != nil {
			return err
		}
		return states(ctx, n)
	}
	return errors.New(synopsis)
}

func numbers(args []string) ([]int, error) {
	var all []int
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive number", a)
		}
		all = append(all, n)
	}
	return all, nil
}

func printLine(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
