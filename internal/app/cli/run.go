package cli

import (
	"context"

	"github.com/spf13/cobra"

	"countersign/internal/app"
)

type runCommand struct{}

// command is the command line's view of it.
func (c *runCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the bot (what happens without a command)",
		Long: `Run the bot.

Reads the environment and the agents file, checks the Slack token, and runs until SIGTERM or an interrupt.
SIGHUP reads the agents file again.`,
		Example: "  SLACK_BOT_TOKEN=xoxb-… SLACK_APP_TOKEN=xapp-… OPENAI_API_KEY=sk-… countersign run",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	return cmd
}

// Run runs the bot until ctx ends.
func (c *runCommand) Run(ctx context.Context, p *Program) error {
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	p.endWithPipe()
	p.Stderr = logTo(p.Stderr, cfg)
	return app.Run(ctx, cfg, p.Tools, p.Stderr)
}
