package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type breakGlassCommand struct{ ID, Reason, As string }

// command is the command line's view of it.
func (c *breakGlassCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "break-glass ID",
		Short: "Let a call run in an emergency, past its policy",
		Long: `Let the call of the request ID run at once, without the answers that its policy demands.

Only people whom break_glass of the agents file names can do so, and never for a call that they asked for themselves.
The thread, and the channel that break_glass names, are told at once with the reason, and the trail keeps it as a
decision of its own kind. Somebody else who may decide the request has to review it afterwards ` +
			`with "approvals review".`,
		Example: `  countersign approvals break-glass req_06f1k8… --reason "checkout is down" --as U0123456789`,
		Args:    one("a request's id", &c.ID),
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.Reason, "reason", "", "a `TEXT` that says why there is no time; needed")
	f.StringVar(&c.As, "as", "", "the Slack `USER` who decides, such as U0123456789; needed")
	return cmd
}

// Run records the decision.
func (c *breakGlassCommand) Run(ctx context.Context, p *Program) error {
	if err := needs(c.Reason, c.As); err != nil {
		return err
	}
	desk, err := p.decidingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Request(ctx, approvals.RequestID(c.ID))
	if err != nil {
		return err
	}
	after, err := desk.Decide(ctx, approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, Digest: r.Digest, By: approvals.NewUserID(r.Workspace, c.As),
		Verdict: approvals.BreakGlass, Reason: c.Reason, Via: control.Via,
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is %s, past its policy. %s Somebody else has to review it: "+
		"countersign approvals review %s --accept (or --object) --reason TEXT --as USER",
		after.ID, after.Status, callSentence(&after.RequestHead), after.ID)
	_, err = fmt.Fprintln(p.Stdout, visible.Line(text))
	return err
}

// needs refuses a command without a reason, or without a person.
func needs(reason, as string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return misused("why? --reason takes a text for the record")
	case as == "":
		return misused("in whose name? --as takes the id of a Slack user, such as U0123456789")
	}
	return nil
}
