package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type reviewCommand struct {
	ID, Reason, As string
	Accept, Object bool
}

// command is the command line's view of it.
func (c *reviewCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "review ID",
		Short: "Review a decision that was made past its policy",
		Long: `Record what somebody thinks afterwards of an emergency decision ("approvals break-glass").

They must be somebody who may decide the request, and neither the person who broke the glass nor the one who had asked
for the call. A review changes nothing about the call: it is told in the thread and kept in the trail.
"approvals list --status review" lists what waits for one.`,
		Example: `  countersign approvals review req_06f1k8… --accept ` +
			`--reason "the right thing to do" --as U0123456789`,
		Args: one("a request's id", &c.ID),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.Accept, "accept", false, "the decision was right")
	f.BoolVar(&c.Object, "object", false, "it was not")
	f.StringVar(&c.Reason, "reason", "", "a `TEXT` for the record; needed")
	f.StringVar(&c.As, "as", "", "the Slack `USER` who reviews, such as U0123456789; needed")
	return cmd
}

// Run records the review.
func (c *reviewCommand) Run(ctx context.Context, p *Program) error {
	if c.Accept == c.Object {
		return misused("give one of --accept and --object")
	}
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
	v := approvals.Review{
		By: approvals.NewUserID(r.Workspace, c.As), Verdict: approvals.ReviewAccept, Reason: c.Reason, Via: control.Via,
	}
	if c.Object {
		v.Verdict = approvals.ReviewObject
	}
	if _, err := desk.Review(ctx, r.Workspace, r.ID, v); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, visible.Line(fmt.Sprintf("The review of %s is recorded.", r.ID)))
	return err
}
