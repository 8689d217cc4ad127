package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/internal/app"
)

type versionCommand struct {
	JSON bool
}

// command is the command line's view of it.
func (c *versionCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  countersign version --json",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	return cmd
}

// Run prints what was built from which commit with which Go.
func (c *versionCommand) Run(_ context.Context, p *Program) error {
	v := app.BuildVersion()
	if c.JSON {
		return newEncoder(p.Stdout).Encode(v)
	}
	_, err := fmt.Fprintln(p.Stdout, "countersign", v)
	return err
}
