package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
)

type listCommand struct {
	query       control.Query
	Count, JSON bool
	Limit       int
}

// command is the command line's view of it.
func (c *listCommand) command(l *commandLine) *cobra.Command {
	c.query.Status = approvals.RequestPending
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List requests, oldest first",
		Long: `List requests, oldest first: those that wait for people, unless --status says otherwise.

Calls under "approval: audit" run at once and ask nobody; --status audit lists them, under the ids of their run and
effect, and "runs show" has more.

Arguments of the calls are not listed; "approvals show" prints them. A TIME is a date and time as in RFC 3339, such as
2026-11-02T15:04:05Z, or how long ago: 90m, 24h, 7d.`,
		Example: `  countersign approvals list --json | jq -r .id
  countersign approvals list --status all --tool transfer_funds --since 7d
  countersign approvals list --status approved --person U0123456789 --count`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Func("status", "one `STATUS` of "+strings.Join(control.StatusWords(), ", ")+" (default pending)", c.setStatus)
	f.Func("person", "only what this Slack `USER` asked for or answered", given(&c.query.Person))
	f.Func("tool", "only calls of the tool `NAME`", given(&c.query.Tool))
	f.Func("agent", "only calls by the agent `NAME`", given(&c.query.Agent))
	f.Func("channel", "only what was asked for in the channel `ID`", given(&c.query.Channel))
	f.Func("run", "only calls of the run `ID`", given(&c.query.Run))
	f.Func("since", "only requests made at the `TIME` or later", instant(&c.query.Since))
	f.Func("until", "only requests made before the `TIME`", instant(&c.query.Until))
	f.IntVar(&c.Limit, "limit", 0, "print at most `N` requests; 0 prints all")
	f.BoolVar(&c.Count, "count", false, "print only how many there are")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line")
	return cmd
}

func (c *listCommand) setStatus(word string) (err error) {
	if c.query.Status, err = control.ReadStatus(word); err != nil {
		return errors.New("it is one of " + strings.Join(control.StatusWords(), ", ")) // the word is named before it
	}
	return nil
}

// Run prints the requests, page by page.
func (c *listCommand) Run(ctx context.Context, p *Program) error {
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
func (c *listCommand) check() error {
	q := &c.query
	switch {
	case c.Limit < 0:
		return misused("--limit is a number of requests, or 0, not %d", c.Limit)
	case c.Limit > 0 && c.Count:
		return misused("--count counts all of them; --limit does not go with it")
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return misused("--since (%s) is not before --until (%s): no request can match",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

func (c *listCommand) list(ctx context.Context, p *Program, desk control.Desk) error {
	walk := func(yield func(*approvals.RequestHead) error) error { return c.walk(ctx, desk, yield) }
	switch {
	case c.Count:
		return c.number(p, walk)
	case c.JSON:
		return c.lines(p, walk)
	}
	return c.table(p, walk)
}

// walk hands the requests to yield.
func (c *listCommand) walk(ctx context.Context, desk control.Desk, yield func(*approvals.RequestHead) error) error {
	var cursor control.Cursor
	for n, more := 0, true; more; {
		var page []*approvals.RequestHead
		var err error
		// Without a limit the number of those left is not positive, which is a whole page.
		if page, more, err = desk.Requests(ctx, c.query, cursor, c.Limit-n); err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if err := yield(r); err != nil {
				return err
			}
			if n++; n == c.Limit {
				return nil
			}
			cursor = control.CursorAt(r)
		}
	}
	return nil
}

// given returns the setter of a flag that is left out rather than empty.
func given[T ~string](field *T) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("it is empty; leave the flag out to list everything")
		}
		*field = T(value)
		return nil
	}
}
