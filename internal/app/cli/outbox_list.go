package cli

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"countersign/internal/control"
	"countersign/internal/humanize"
	"countersign/internal/visible"
)

type outboxListCommand struct {
	JSON  bool
	Limit int
}

// command is the command line's view of it.
func (c *outboxListCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what could not be delivered and was given up",
		Long: `List the dead letters: notifications that could not be delivered and were given up, with the reason.

What they say is not listed. Requests among them can still be decided: "approvals list" has those that wait.`,
		Example: `  countersign outbox list
  countersign outbox list --json | jq -r 'select(.why | test("not_in_channel")) | .id'`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&c.Limit, "limit", 0, "print at most `N` dead letters; 0 prints all")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line")
	return cmd
}

// Run prints the dead letters, page by page.
func (c *outboxListCommand) Run(ctx context.Context, p *Program) error {
	if c.Limit < 0 {
		return misused("--limit is a number of dead letters, or 0, not %d", c.Limit)
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.list(ctx, p, desk)
}

func (c *outboxListCommand) list(ctx context.Context, p *Program, desk control.Desk) error {
	if c.JSON {
		e := newEncoder(p.Stdout)
		return walkLetters(ctx, desk, c.Limit, func(d *control.DeadLetter) error { return e.Encode(d) })
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	n := 0
	err := walkLetters(ctx, desk, c.Limit, func(d *control.DeadLetter) error {
		if n++; n == 1 {
			fmt.Fprintln(w, "ID\tKIND\tGIVEN UP\tRUN\tREQUEST\tPLACE\tWHY")
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s ago\t%s\t%s\t%s\t%s\n", visible.Line(string(d.ID)),
			visible.Line(string(d.Kind)), humanize.Duration(time.Since(d.Since)),
			visible.Line(cmp.Or(string(d.Run), "-")), visible.Line(cmp.Or(string(d.Request), "-")),
			visible.Line(whereTo(d)), visible.Line(d.Why))
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, nothingDead)
	}
	return w.Flush()
}

const nothingDead = "Nothing was given up."

// whereTo says for whom a dead letter was.
func whereTo(d *control.DeadLetter) string {
	if d.Copy != "" {
		return string(d.Copy)
	}
	return d.Place.Channel
}

// walkLetters hands the dead letters to yield, at most limit unless that is 0.
func walkLetters(ctx context.Context, desk control.Desk, limit int, yield func(*control.DeadLetter) error) error {
	var cursor control.Cursor
	for n, more := 0, true; more; {
		var page []*control.DeadLetter
		var err error
		if page, more, err = desk.DeadLetters(ctx, cursor, limit-n); err != nil || len(page) == 0 {
			return err
		}
		for _, d := range page {
			if err := yield(d); err != nil {
				return err
			}
			if n++; n == limit {
				return nil
			}
			cursor = control.CursorAtLetter(d)
		}
	}
	return nil
}
