package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type verifyCommand struct {
	JSON bool
}

// command is the command line's view of it.
func (c *verifyCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Recompute the audit chain and compare",
		Long: `Recompute every entry's hash and its link to the entry before, and compare.

Keep the heads that are printed somewhere else: they show later whether the end of the trail was cut off.`,
		Example: "  countersign audit verify",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	return cmd
}

// Run prints one line for each workspace, or which entry is wrong.
func (c *verifyCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.desk(ctx, nil)
	if err != nil {
		return err
	}
	defer desk.Close()
	return verifyAudit(ctx, p.Stdout, desk, c.JSON)
}

// verifyAudit verifies and prints the result. The error is nil only when the whole trail is in order.
func verifyAudit(ctx context.Context, w io.Writer, desk control.Desk, asJSON bool) error {
	report, err := desk.VerifyAudit(ctx)
	if broken, ok := errors.AsType[*approvals.AuditError](err); ok && !asJSON {
		fmt.Fprintf(w, "audit: BROKEN in workspace %s at entry %d: %s\n",
			visible.Line(string(broken.Workspace)), broken.Seq, visible.Line(broken.Reason))
		return errSilent
	}
	if err != nil {
		return err
	}
	if asJSON {
		return newEncoder(w).Encode(report)
	}
	if len(report.Workspaces) == 0 {
		_, err = fmt.Fprintln(w, "audit: ok, no entries")
	}
	for _, ws := range report.Workspaces {
		_, err = fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, head %s\n",
			visible.Line(string(ws.Workspace)), ws.Entries, ws.Head)
	}
	return err
}
