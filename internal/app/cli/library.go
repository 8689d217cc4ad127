package cli

import (
	"context"

	"github.com/spf13/cobra"

	"countersign/internal/app"
	"countersign/internal/demo"
)

// libraryCommand is the MCP server of examples/research.yaml.
type libraryCommand struct {
	Dir string
}

// command is the command line's view of it.
func (c *libraryCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo-mcp DIR",
		Short: "Serve the documents of the demo as an MCP server",
		Long: `Serve the Markdown files of the folder DIR as an MCP server.

Speaks the Model Context Protocol over standard input and output, until the input ends. Programs start it, people do
not.`,
		Example: "  countersign demo-mcp ./documents",
		Args:    one("the folder with the documents", &c.Dir),
		RunE:    l.run(c.Run),
		Hidden:  true,
	}
	return cmd
}

// Run serves until the client hangs up.
func (c *libraryCommand) Run(ctx context.Context, _ *Program) error {
	return demo.ServeLibrary(ctx, c.Dir, app.BuildVersion().Version)
}
