package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/internal/app"
	"countersign/internal/testfile"
	"countersign/internal/testrun"
)

type testCommand struct {
	Files         []string
	Only          string
	Timeout       time.Duration
	AllowTools    []string
	JSON, Verbose bool

	only *regexp.Regexp
}

// command is the command line's view of it.
func (c *testCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Test your own agents file, without any account",
		Long: `Play the tests of each FILE: the agents file that it names, with the real bot and store, in a local Slack
workspace, with a scripted model and stubs of the services that http tools call. Each test has a workspace, a store and
a temporary folder of its own; nothing leaves this machine. docs/test-file.md describes the file.

What is expected is compared with what the workspace shows and the store holds. What no step expects fails a test too: a
call, a card, a message, a request that waits in the end.

Tools of type ` + strings.Join(testrun.Permissions, ", ") + ` act on this machine for real, so a test that calls one
is refused unless --allow-tools names the type. Use it only for files that you would run yourself.

The exit code is 1 when a test fails, and 2 when a file cannot be used.`,
		Example: `  countersign test countersign_test.yaml
  countersign test --run 'two people' -v finance/*_test.yaml
  countersign test --allow-tools shell,apply_patch operations_test.yaml`,
		Args: c.files,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.Only, "run", "", "only tests whose names match the regular `EXPRESSION`")
	f.DurationVar(&c.Timeout, "timeout", 10*time.Second, "how long a step may take until all that it expects has come")
	f.StringSliceVar(&c.AllowTools, "allow-tools", nil, "`TYPES` of tools that may act on this machine: "+
		strings.Join(testrun.Permissions, ", "))
	f.BoolVarP(&c.Verbose, "verbose", "v", false, "print what happened also in tests that pass")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per test")
	return cmd
}

// files takes at least one.
func (c *testCommand) files(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return misused("%s needs a file with tests", cmd.CommandPath())
	}
	c.Files = args
	return nil
}

// check refuses flags that mean nothing.
func (c *testCommand) check() (err error) {
	for _, t := range c.AllowTools {
		if !slices.Contains(testrun.Permissions, t) {
			return misused("--allow-tools: %q is none of %s", t, strings.Join(testrun.Permissions, ", "))
		}
	}
	if c.Timeout <= 0 {
		return misused("--timeout is a duration above 0, such as 10s")
	}
	if c.only, err = regexp.Compile(c.Only); err != nil {
		return misused("--run: %v", err)
	}
	return nil
}

// Run plays the tests of all files, once all of them could be read.
func (c *testCommand) Run(ctx context.Context, p *Program) error {
	if err := c.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	files, err := c.read()
	if err != nil {
		return app.Misconfigured(err)
	}
	cfg := testrun.Config{Executable: self, Environ: p.Environ, Timeout: c.Timeout, AllowTools: c.AllowTools}
	played, failed := 0, 0
	for _, f := range files {
		for i := range f.Tests {
			if !c.only.MatchString(f.Tests[i].Name) {
				continue
			}
			passed, err := c.play(ctx, p, cfg, f, &f.Tests[i])
			if ctx.Err() != nil {
				return interrupted(ctx.Err(), fmt.Sprintf("the test %q was not played to its end; "+
					"%d played before it, %d failed", f.Tests[i].Name, played, failed))
			}
			if err != nil {
				return err
			}
			if played++; !passed {
				failed++
			}
		}
	}
	return c.conclude(p, played, failed)
}

func (c *testCommand) read() (files []*testfile.File, err error) {
	for _, path := range c.Files {
		f, e := testfile.Read(path)
		err = errors.Join(err, e)
		files = append(files, f)
	}
	return files, err
}

// play plays one test and prints how it ended, but of one that ctx has cut off: what fails then is not the test's.
func (c *testCommand) play(
	ctx context.Context, p *Program, cfg testrun.Config, f *testfile.File, t *testfile.Test,
) (passed bool, err error) {
	result, err := testrun.Play(ctx, cfg, f, t)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if errors.Is(err, testrun.ErrConfig) {
		return false, app.Misconfigured(err)
	}
	if err != nil {
		return false, fmt.Errorf("%s: test %q: %w", f.Path, t.Name, err)
	}
	if c.JSON {
		return result.Passed(), newEncoder(p.Stdout).Encode(newTestResult(result))
	}
	return result.Passed(), c.print(p.Stdout, result)
}

// conclude says how all of it ended. Not one test is no success: nothing was shown.
func (c *testCommand) conclude(p *Program, played, failed int) error {
	if played == 0 {
		return misused("--run %q matches no test", c.Only)
	}
	if !c.JSON {
		fmt.Fprintf(p.Stdout, "%d played, %d failed\n", played, failed)
	}
	if failed > 0 {
		return errSilent
	}
	return nil
}

// testResult is a result as JSON.
type testResult struct {
	File       string        `json:"file"`
	Test       string        `json:"test"`
	Passed     bool          `json:"passed"`
	Seconds    float64       `json:"seconds"`
	Failures   []testFailure `json:"failures"`
	Transcript string        `json:"transcript"`
}

type testFailure struct {
	Line     int     `json:"line,omitempty"`
	Column   int     `json:"column,omitempty"`
	Step     string  `json:"step,omitempty"`
	What     string  `json:"what"`
	Expected string  `json:"expected"`
	Got      string  `json:"got"`
	Waited   float64 `json:"waited_seconds,omitempty"`
}

func newTestResult(r *testrun.Result) testResult {
	j := testResult{r.File, r.Name, r.Passed(), r.Took.Seconds(), []testFailure{}, r.Transcript}
	for _, f := range r.Failures {
		j.Failures = append(j.Failures,
			testFailure{f.At.Line, f.At.Column, f.Step, f.What, f.Expected, f.Got, f.Waited.Seconds()})
	}
	return j
}
