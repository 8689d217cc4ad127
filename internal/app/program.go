package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"countersign/agent"
)

// The exit codes.
const (
	exitDone   = 0 // what was asked for was done
	exitFailed = 1 // it was not
	exitUsage  = 2 // it could not be tried: the command line, the environment or the agents file is wrong
)

// Program is the command line program.
type Program struct {
	// Args are the arguments without the program's name.
	Args []string
	// Tools are the Go functions that tools of type function in the agents file may name.
	Tools []agent.Tool
	// Stdin is not read; Stdout takes results, Stderr progress, logs and errors.
	Stdout, Stderr io.Writer
	// Environ is what child processes of the demo start from, in the form of os.Environ.
	Environ []string
}

// Main runs the command that the arguments name until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, p Program) int {
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("countersign"),
		kong.Description("A Slack bot that runs AI agents and asks people before a tool call that matters."),
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: false, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&p),
	)
	if err != nil {
		return p.report(fmt.Errorf("command line: %w", err))
	}
	parsed, err := parser.Parse(p.Args)
	if exited { // --help was printed; what is missing on the line does not matter
		return exitDone
	}
	if err != nil {
		return p.report(&usageError{err})
	}
	return p.report(parsed.Run())
}

// usageError is a command line that says nothing the program could do.
type usageError struct{ error }

func (e *usageError) Error() string { return e.error.Error() + "\nTry: countersign --help" }

func (e *usageError) Unwrap() []error { return []error{ErrConfig, e.error} }

// errSilent ends a command that has said itself what is wrong.
var errSilent = errors.New("not done")

// report prints the error, if any, and returns the exit code for it.
func (p *Program) report(err error) int {
	if err == nil {
		return exitDone
	}
	if !errors.Is(err, errSilent) {
		p.complain(err)
	}
	if errors.Is(err, ErrConfig) {
		return exitUsage
	}
	return exitFailed
}

// complain prints each line of the error behind the program's name.
func (p *Program) complain(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(p.Stderr, "countersign:", line)
	}
}
