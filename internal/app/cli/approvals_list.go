package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/humanize"
	"countersign/internal/visible"
)

type listCommand struct {
	JSON  bool
	Limit int
}

// command is the command line's view of it.
func (c *listCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List pending requests, oldest first",
		Long: "List pending requests, oldest first. " +
			`Arguments of the calls are not listed; "approvals show" prints them.`,
		Example: "  countersign approvals list --json | jq -r .id",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line")
	f.IntVar(&c.Limit, "limit", 0, "print at most `N` requests; 0 prints all")
	return cmd
}

const listPage = 100

// Run prints the pending requests, page by page.
func (c *listCommand) Run(ctx context.Context, p *Program) error {
	if c.Limit < 0 {
		return misused("--limit is a number of requests, or 0, not %d", c.Limit)
	}
	desk, err := p.desk(ctx, nil)
	if err != nil {
		return err
	}
	defer desk.Close()
	show := c.table
	if c.JSON {
		show = c.lines
	}
	return show(p, func(yield func(*approvals.Request) error) error { return c.walk(ctx, desk, yield) })
}

// walk hands the requests to yield.
func (c *listCommand) walk(ctx context.Context, desk control.Desk, yield func(*approvals.Request) error) error {
	var cursor control.Cursor
	for n := 0; ; {
		page, more, err := desk.Pending(ctx, cursor, listPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			if n++; c.Limit > 0 && n > c.Limit {
				return nil
			}
			if err := yield(r); err != nil {
				return err
			}
			cursor = control.CursorAt(r)
		}
		if !more || len(page) == 0 {
			return nil
		}
	}
}

type walker func(yield func(*approvals.Request) error) error

func (c *listCommand) lines(p *Program, walk walker) error {
	e := newEncoder(p.Stdout)
	return walk(func(r *approvals.Request) error { return e.Encode(newSummary(r)) })
}

func (c *listCommand) table(p *Program, walk walker) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	n := 0
	err := walk(func(r *approvals.Request) error {
		if n++; n == 1 {
			fmt.Fprintln(w, "ID\tASKS FOR\tTOOL\tAGENT\tREQUESTER\tCHANNEL\tWAITING\tEXPIRES")
		}
		s := newSummary(r)
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Line(string(s.ID)), wanted(r.Kind),
			visible.Line(s.Tool), visible.Line(s.Agent), visible.Line(s.Requester), visible.Line(s.Channel),
			humanize.Duration(time.Since(s.Created)), until(s.Expires))
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, "Nothing is pending.")
	}
	return w.Flush()
}

// summary is what a list says of a request.
type summary struct {
	ID        approvals.RequestID   `json:"id"`
	Workspace approvals.WorkspaceID `json:"workspace"`
	Run       approvals.RunID       `json:"run"`
	Kind      string                `json:"kind"`
	Tool      string                `json:"tool"`
	Agent     string                `json:"agent"`
	Requester string                `json:"requester"`
	Channel   string                `json:"channel"`
	Status    string                `json:"status"`
	Digest    string                `json:"digest"`
	Created   time.Time             `json:"created"`
	Expires   time.Time             `json:"expires,omitzero"`
}

func newSummary(r *approvals.Request) summary {
	return summary{
		ID: r.ID, Workspace: r.Workspace, Run: r.Run, Kind: string(r.Kind), Tool: r.Tool.Name, Agent: r.Agent,
		Requester: r.Requester.Local(), Channel: r.Place.Channel, Status: string(r.Status), Digest: r.Digest.String(),
		Created: r.Created, Expires: r.Expires,
	}
}

// wanted names in a word what a request of the kind waits for.
func wanted(kind agent.InterruptionKind) string {
	switch kind {
	case agent.Confirm:
		return "approval"
	case agent.OutcomeUnknown:
		return "outcome"
	case agent.ExternalResult:
		return "result"
	}
	return string(kind)
}

func until(t time.Time) string {
	switch left := time.Until(t); {
	case t.IsZero():
		return "never"
	case left <= 0:
		return "now"
	default:
		return "in " + humanize.Duration(left)
	}
}
