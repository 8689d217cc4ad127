package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type grantsRevokeCommand struct {
	ID, Reason string
	JSON       bool
}

// command is the command line's view of it.
func (c *grantsRevokeCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a grant, so that people are asked again",
		Long: `End the grant ID, so that people are asked again.

A call that has begun under the grant goes on; none begins afterwards. The trail says that an operator did it.`,
		Example: `  countersign grants revoke grant_06f1k8… --reason "the supplier has changed"`,
		Args:    one("a grant's id", &c.ID),
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.Reason, "reason", "", "a `TEXT` for the record")
	f.BoolVar(&c.JSON, "json", false, "print the grant as it stands afterwards as JSON")
	return cmd
}

// Run revokes the grant.
func (c *grantsRevokeCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.writingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.revoke(ctx, p, desk)
}

func (c *grantsRevokeCommand) revoke(ctx context.Context, p *Program, desk control.Desk) error {
	g, err := desk.RevokeGrant(ctx, approvals.GrantID(c.ID), c.Reason)
	if errors.Is(err, approvals.ErrConflict) && g != nil {
		return fmt.Errorf("%w, at %s", err, g.Revoked.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return newEncoder(p.Stdout).Encode(g)
	}
	_, err = fmt.Fprintln(p.Stdout, visible.Line(fmt.Sprintf("%s is revoked. It was for %s; calls so far: %d.",
		g.ID, g.Terms(), g.Used)))
	return err
}
