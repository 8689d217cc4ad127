package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/visible"
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
	// Stdout takes results, Stderr progress, logs and errors.
	Stdout, Stderr io.Writer
	// Environ is what child processes of the demo start from, in the form of os.Environ.
	Environ []string

	pipe chan os.Signal // takes SIGPIPE
}

// Main runs the command that the arguments name until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, p Program) int {
	out := &results{w: p.Stdout}
	p.Stdout = out
	p.outlivePipe()
	defer p.endWithPipe()
	l := &commandLine{program: &p}
	root := l.commands()
	root.SetArgs(p.Args)
	command, err := root.ExecuteContextC(ctx)
	if usage, ok := errors.AsType[*usageError](err); ok || err != nil && !l.began {
		if !ok {
			usage = &usageError{error: err}
		}
		usage.try = cmp.Or(usage.try, command.CommandPath())
		err = usage
	}
	return p.report(out.judge(err))
}

// commandLine is the line that is being read.
type commandLine struct {
	program *Program
	began   bool // it has been understood: what goes wrong now is the command's
}

// run is what the library calls for a command.
func (l *commandLine) run(do func(context.Context, *Program) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		if err := noneEmpty(c); err != nil {
			return err
		}
		l.began = true
		return withList(c, do(c.Context(), l.program))
	}
}

// saySo are the flags that may be empty, or whose commands say themselves what is missing then.
var saySo = []string{"as", "reason", "run", "allow-tools"}

// noneEmpty refuses a flag that was given without a value, as "$NAME" is of a variable that is not set. Taken for one
// that was left out it would widen what is asked for: more is covered, or less compared.
func noneEmpty(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains(saySo, f.Name) {
			err = misused("--%s is empty; leave the flag out, or give it a value", f.Name)
		}
	})
	return err
}

// lists has, by the command that others are below, the command that prints what those are given the ids of.
var lists = map[string]string{
	"approvals": "countersign approvals list --status all", "runs": "countersign runs list",
	"grants": "countersign grants list --all", "outbox": "countersign outbox list",
}

// unknownID is the error for an id that nothing has, as the stores word it, and as outbox replay does.
var unknownID = regexp.MustCompile(`(^|\n)(request|run|grant) \S+: not found|no dead letter has the id`)

// withList adds to an error about an id that nothing has which command prints ids.
func withList(c *cobra.Command, err error) error {
	list := ""
	if c.HasParent() {
		list = lists[c.Parent().Name()]
	}
	if list == "" || !errors.Is(err, approvals.ErrNotFound) || !unknownID.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("%w\n%s prints the ids", err, list)
}

// usageError is a command line that says nothing the program could do.
type usageError struct {
	error
	try string // the command whose help says what could be meant
}

func misused(format string, args ...any) error {
	return &usageError{error: fmt.Errorf(format, args...)}
}

func (e *usageError) Error() string { return e.error.Error() + "\nTry: " + e.try + " --help" }

func (e *usageError) Unwrap() []error { return []error{app.ErrConfig, e.error} }

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
	if errors.Is(err, app.ErrConfig) {
		return exitUsage
	}
	return exitFailed
}

// complain prints each line of the error behind the program's name. Errors may quote what others wrote.
func (p *Program) complain(err error) {
	shown, _ := visible.Text(err.Error(), visible.Source)
	for line := range strings.SplitSeq(shown, "\n") {
		fmt.Fprintln(p.Stderr, "countersign:", line)
	}
}
