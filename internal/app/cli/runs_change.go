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

type runsCancelCommand struct {
	ID, As, Reason string
	JSON           bool
}

// command is the command line's view of it.
func (c *runsCancelCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a run in the name of a Slack user",
		Long: `End the run ID in the name of a Slack user: whoever asked for it, or may decide one of its waiting
requests.

Nothing of it begins any more, and what waits is cancelled. A tool that is running is told to stop; what comes of it is
recorded, and told in the thread, however late. The thread is told who cancelled the run, and the reason.

While the bot runs it does so; otherwise the command opens the store itself, and needs the bot's environment to ask
Slack who the person is.`,
		Example: `  countersign runs cancel run_06f1k8… --as U0123456789 --reason "wrong month"`,
		Args:    one("a run's id", &c.ID),
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.As, "as", "", "the Slack `USER` in whose name the run is cancelled, such as U0123456789")
	f.StringVar(&c.Reason, "reason", "", "a `TEXT` for the thread and the record")
	f.BoolVar(&c.JSON, "json", false, "print the run as it stands afterwards as JSON")
	return cmd
}

// Run cancels the run.
func (c *runsCancelCommand) Run(ctx context.Context, p *Program) error {
	return changeRun(ctx, p, c.ID, c.As, func(desk control.Desk, r *approvals.RunRecord, by approvals.UserID) error {
		return c.cancel(ctx, p, desk, r, by)
	})
}

// changeRun finds the run and hands it to change with the person, for a desk that may do something in their name.
func changeRun(
	ctx context.Context, p *Program, id, as string,
	change func(desk control.Desk, r *approvals.RunRecord, by approvals.UserID) error,
) error {
	if as == "" {
		return misused("in whose name? --as takes the id of a Slack user, such as U0123456789")
	}
	desk, err := p.decidingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Run(ctx, approvals.RunID(id))
	if err != nil {
		return err
	}
	return change(desk, r, approvals.NewUserID(r.Workspace, as))
}

func (c *runsCancelCommand) cancel(
	ctx context.Context, p *Program, desk control.Desk, r *approvals.RunRecord, by approvals.UserID,
) error {
	after, err := desk.CancelRun(ctx, approvals.Cancellation{
		Workspace: r.Workspace, Run: r.ID, By: by, Reason: c.Reason,
	})
	if errors.Is(err, approvals.ErrEnded) && after != nil {
		return fmt.Errorf("%w: it is %s since %s", err, runStatusLine(after), after.Ended.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return newEncoder(p.Stdout).Encode(after)
	}
	_, err = fmt.Fprintln(p.Stdout, visible.Line(fmt.Sprintf("%s is cancelled. %s", after.ID, after.Failure)))
	return err
}

type runsRetryCommand struct {
	ID, As string
	JSON   bool
}

// command is the command line's view of it.
func (c *runsRetryCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Submit the input of a failed or cancelled run once more, as a new run",
		Long: `Submit the input of the run ID, which failed or was cancelled, once more as a new run, in the name of a
Slack user. The rules are those of a mention: the user must be one who may start runs there, limits hold, and while
another run of the thread is under way the input waits for its end. Nobody but its requester retries what was asked for
in a direct conversation.

Nothing of the old run is resumed. The new one knows from the thread's memory which calls ran, and is told not to
repeat them; a call that needs approval asks people again. The thread is told who started the run again. A run is
retried once; what that started can be retried in its turn.`,
		Example: `  countersign runs retry run_06f1k8… --as U0123456789
  countersign runs retry run_06f1k8… --as U0123456789 --json | jq -r .run`,
		Args: one("a run's id", &c.ID),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.As, "as", "", "the Slack `USER` who asks for the new run, such as U0123456789")
	f.BoolVar(&c.JSON, "json", false,
		"print what became of it as JSON; where the outcome is \"queued\" there is no run yet, and behind is the one "+
			"that it waits for")
	return cmd
}

// Run retries the run.
func (c *runsRetryCommand) Run(ctx context.Context, p *Program) error {
	return changeRun(ctx, p, c.ID, c.As, func(desk control.Desk, r *approvals.RunRecord, by approvals.UserID) error {
		return c.retry(ctx, p, desk, r, by)
	})
}

func (c *runsRetryCommand) retry(
	ctx context.Context, p *Program, desk control.Desk, r *approvals.RunRecord, by approvals.UserID,
) error {
	receipt, err := desk.RetryRun(ctx, approvals.RunRetry{Workspace: r.Workspace, Run: r.ID, By: by})
	if err != nil {
		return err
	}
	if c.JSON {
		return newEncoder(p.Stdout).Encode(retrySummary(r.ID, receipt))
	}
	_, err = fmt.Fprintln(p.Stdout, visible.Line(retryWords(r.ID, receipt)))
	return err
}

// retried is what a program reads of a retry.
type retried struct {
	Run     approvals.RunID         `json:"run,omitempty"`    // the new run; none yet for an input that waits
	Behind  approvals.RunID         `json:"behind,omitempty"` // the run that it waits for
	Outcome approvals.SubmitOutcome `json:"outcome"`
	Ahead   int                     `json:"ahead"`
	RetryOf approvals.RunID         `json:"retry_of"`
}

func retrySummary(old approvals.RunID, receipt approvals.Receipt) retried {
	r := retried{Run: receipt.Run, Outcome: receipt.Outcome, Ahead: receipt.Ahead, RetryOf: old}
	if receipt.Outcome == approvals.SubmitQueued {
		r.Run, r.Behind = "", receipt.Run
	}
	return r
}

// retryWords says what became of the input of the old run.
func retryWords(old approvals.RunID, receipt approvals.Receipt) string {
	if receipt.Outcome != approvals.SubmitQueued {
		return fmt.Sprintf("%s is started again as %s.", old, receipt.Run)
	}
	words := fmt.Sprintf("%s is under way in its thread. The input of %s waits for the end of that", receipt.Run, old)
	switch receipt.Ahead {
	case 0:
		return words + "."
	case 1:
		return words + ", behind 1 other message."
	}
	return fmt.Sprintf("%s, behind %d other messages.", words, receipt.Ahead)
}
