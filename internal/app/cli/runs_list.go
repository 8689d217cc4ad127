package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/humanize"
	"countersign/internal/visible"
)

type runsListCommand struct {
	query       control.RunQuery
	Count, JSON bool
	Limit       int
}

// command is the command line's view of it.
func (c *runsListCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `List runs, newest first, of all statuses unless --status says otherwise.

What people wrote is not listed; "runs show" prints it. A TIME is a date and time as in RFC 3339, such as
2026-11-02T15:04:05Z, or how long ago: 90m, 24h, 7d.`,
		Example: `  countersign runs list --status waiting
  countersign runs list --status failed --since 7d --json | jq -r .id
  countersign runs list --person U0123456789 --count`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Func("status", "one `STATUS` of "+strings.Join(control.RunStatusWords(), ", ")+" (default all)", c.setStatus)
	f.Func("person", "only runs that this Slack `USER` asked for or cancelled", given(&c.query.Person))
	f.Func("agent", "only runs of the agent `NAME`", given(&c.query.Agent))
	f.Func("channel", "only what was asked for in the channel `ID`", given(&c.query.Channel))
	f.Func("since", "only runs that were asked for at the `TIME` or later", instant(&c.query.Since))
	f.Func("until", "only runs that were asked for before the `TIME`", instant(&c.query.Until))
	f.IntVar(&c.Limit, "limit", 0, "print at most `N` runs; 0 prints all")
	f.BoolVar(&c.Count, "count", false, "print only how many there are")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line")
	return cmd
}

func (c *runsListCommand) setStatus(word string) (err error) {
	c.query.Status, err = control.ReadRunStatus(word)
	return err
}

// Run prints the runs, page by page.
func (c *runsListCommand) Run(ctx context.Context, p *Program) error {
	if err := c.check(); err != nil {
		return err
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.list(ctx, p, desk)
}

// check refuses what can list nothing, or would not be what it looks like.
func (c *runsListCommand) check() error {
	q := &c.query
	switch {
	case c.Limit < 0:
		return misused("--limit is a number of runs, or 0, not %d", c.Limit)
	case c.Limit > 0 && c.Count:
		return misused("--count counts all of them; --limit does not go with it")
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return misused("--since (%s) is not before --until (%s): no run can match",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

func (c *runsListCommand) list(ctx context.Context, p *Program, desk control.Desk) error {
	switch {
	case c.Count:
		return c.number(ctx, p, desk)
	case c.JSON:
		e := newEncoder(p.Stdout)
		return c.walk(ctx, desk, func(r *approvals.Run) error { return e.Encode(newRunSummary(r)) })
	}
	return c.table(ctx, p, desk)
}

// walk hands the runs to yield.
func (c *runsListCommand) walk(ctx context.Context, desk control.Desk, yield func(*approvals.Run) error) error {
	var cursor control.Cursor
	for n, more := 0, true; more; {
		var page []*approvals.Run
		var err error
		// Without a limit the number of those left is not positive, which is a whole page.
		if page, more, err = desk.Runs(ctx, c.query, cursor, c.Limit-n); err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if err := yield(r); err != nil {
				return err
			}
			if n++; n == c.Limit {
				return nil
			}
			cursor = control.CursorAtRun(r)
		}
	}
	return nil
}

// number prints how many runs there are.
func (c *runsListCommand) number(ctx context.Context, p *Program, desk control.Desk) error {
	n := 0
	if err := c.walk(ctx, desk, func(*approvals.Run) error { n++; return nil }); err != nil {
		return err
	}
	if c.JSON {
		return newEncoder(p.Stdout).Encode(struct {
			Count int `json:"count"`
		}{n})
	}
	_, err := fmt.Fprintln(p.Stdout, n)
	return err
}

func (c *runsListCommand) table(ctx context.Context, p *Program, desk control.Desk) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	n := 0
	err := c.walk(ctx, desk, func(r *approvals.Run) error {
		if n++; n == 1 {
			fmt.Fprintln(w, "ID\tSTATUS\tAGENT\tREQUESTER\tCHANNEL\tASKED\tTOOK\tTURNS\tTOKENS")
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s ago\t%s\t%d\t%d\n", visible.Line(string(r.ID)),
			visible.Line(string(r.Status)), visible.Line(r.Agent), visible.Line(r.Requester.Local()),
			visible.Line(r.Place.Channel), humanize.Duration(time.Since(r.Created)), took(r), r.Turns,
			r.Usage.TotalTokens)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, "No run matches.")
	}
	return w.Flush()
}

// took is how long a run that has ended was under way, with the time it waited for people.
func took(r *approvals.Run) string {
	if r.Ended.IsZero() {
		return "-"
	}
	return humanize.Duration(r.Ended.Sub(r.Created))
}

// runSummary is what a list says of a run.
type runSummary struct {
	ID        approvals.RunID       `json:"id"`
	Workspace approvals.WorkspaceID `json:"workspace"`
	Status    approvals.RunStatus   `json:"status"`
	Agent     string                `json:"agent"`
	Requester string                `json:"requester"`
	Channel   string                `json:"channel"`
	Thread    string                `json:"thread"`
	Created   time.Time             `json:"created"`
	Ended     time.Time             `json:"ended,omitzero"`
	Turns     int                   `json:"turns"`
	Tokens    int64                 `json:"tokens"`
	Cancelled string                `json:"cancelled_by,omitempty"`
	RetryOf   approvals.RunID       `json:"retry_of,omitempty"`
	RetriedAs approvals.RunID       `json:"retried_as,omitempty"`
}

func newRunSummary(r *approvals.Run) runSummary {
	return runSummary{
		ID: r.ID, Workspace: r.Workspace, Status: r.Status, Agent: r.Agent, Requester: r.Requester.Local(),
		Channel: r.Place.Channel, Thread: r.Place.Thread, Created: r.Created, Ended: r.Ended, Turns: r.Turns,
		Tokens: r.Usage.TotalTokens, Cancelled: r.CancelledBy.Local(), RetryOf: r.RetryOf, RetriedAs: r.RetriedAs,
	}
}
