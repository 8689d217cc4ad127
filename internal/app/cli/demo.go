package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"countersign/internal/app"
	"countersign/internal/demo"
)

type demoCommand struct {
	Agents, Keep, Listen string
	Headless             bool
}

// command is the command line's view of it.
func (c *demoCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try it on this machine, without any account",
		Long: `Try it on this machine: a local Slack workspace with a page for the browser, a payments service, and the
real bot with a scripted model. With OPENAI_API_KEY set, the bot uses the real model (never with --headless). Everything
listens on this machine only.

The files in examples/ have a script and a story each. They, and files of your own, find in their environment
PAYMENTS_URL and PAYMENTS_TOKEN (the payments service), WORKDIR (a temporary folder to work in), FINANCE_GROUP and
CONTROLLERS_GROUP (user groups: Ben, and Cleo), and COUNTERSIGN (this program).`,
		Example: `  countersign demo --headless --keep ./demo-files
  countersign demo --agents examples/operations.yaml
  countersign demo --agents examples/research.yaml --headless
  countersign demo --agents examples/finance/finance.yaml`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.Agents, "agents", "", "run this agents `FILE`: one of examples/, or with OPENAI_API_KEY any")
	f.BoolVar(&c.Headless, "headless", false, "play a story in the terminal, check every step, and end by itself")
	f.StringVar(&c.Keep, "keep", "", "work in this new folder `DIR` and leave everything there")
	f.StringVar(&c.Listen, "listen", "", "`HOST:PORT` of the page; a free port when left out")
	return cmd
}

// Run shows the program at work.
func (c *demoCommand) Run(ctx context.Context, p *Program) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cfg := demo.Config{Executable: self, Environ: p.Environ, Listen: c.Listen, Keep: c.Keep, Agents: c.Agents,
		Out: p.Stdout}
	signalled := ctx
	ctx, cancel := p.untilLost(ctx)
	defer cancel()
	if c.Headless {
		return explainDemo(signalled, demo.Play(ctx, cfg), "the story was not played to its end")
	}
	stage, err := demo.New(ctx, cfg)
	if err != nil {
		return explainDemo(signalled, err, "the demo had not begun yet")
	}
	return errors.Join(stage.Wait(ctx), stage.Close())
}

// explainDemo marks what a person mends on the command line or in the agents file. What goes wrong once a signal has
// come is that signal's doing, and nothing to mend.
func explainDemo(signalled context.Context, err error, stands string) error {
	if err != nil && signalled.Err() != nil {
		return interrupted(signalled.Err(), stands)
	}
	if errors.Is(err, demo.ErrConfig) {
		return app.Misconfigured(err)
	}
	return err
}
