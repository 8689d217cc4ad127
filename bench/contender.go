package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// contender is one of several programs that do the same work. Each runs in a process of its own, so that processor time
// and memory are its own, and prints its Figures as one line of JSON.
type contender struct {
	command []string // program and first arguments
	dir     bool     // needs a scratch folder of its own, which follows as an argument
	total   int
}

// run starts the contender in a fresh folder and reads what it measured. Total and width are its last arguments.
func (c contender) run(ctx context.Context, o options, width int) (Figures, error) {
	args := c.command[1:]
	if c.dir {
		dir, err := os.MkdirTemp(o.dir, "contender-")
		if err != nil {
			return Figures{}, err
		}
		defer os.RemoveAll(dir)
		args = append(args[:len(args):len(args)], dir)
	}
	args = append(args[:len(args):len(args)], strconv.Itoa(c.total), strconv.Itoa(width))
	out, err := output(ctx, c.command[0], args...)
	if err != nil {
		return Figures{}, err
	}
	var f Figures
	if err := json.Unmarshal(bytes.TrimSpace(out), &f); err != nil {
		return Figures{}, fmt.Errorf("%s printed %q: %w", c.command[0], out, err)
	}
	return f, nil
}

// compete runs the contenders in turn, several times, and returns what each of them measured.
func compete(ctx context.Context, o options, width int, all []contender) ([][]Figures, error) {
	results := make([][]Figures, len(all))
	for range o.scale(3, 1) {
		for i, c := range all {
			f, err := c.run(ctx, o, width)
			if err != nil {
				return nil, err
			}
			results[i] = append(results[i], f)
		}
	}
	return results, nil
}

// output runs a program and returns what it printed.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return out, nil
}

// printShares says how the first result compares with the others, per CPU second, and what the budget is where there is
// one.
func printShares(results [][]Figures, budgets map[string]string) {
	ours := median(results[0])
	for _, r := range results[1:] {
		f := median(r)
		line := fmt.Sprintf("%s: %.2f × %s per CPU second", ours.Name, ours.PerCPUSecond/f.PerCPUSecond, f.Name)
		if b := budgets[f.Name]; b != "" {
			line += " (" + b + ")"
		}
		fmt.Println(line)
	}
	fmt.Println()
}
