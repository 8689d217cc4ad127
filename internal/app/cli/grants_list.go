package cli

import (
	"cmp"
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

type grantsListCommand struct {
	JSON, All bool
}

// command is the command line's view of it.
func (c *grantsListCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that nobody is asked about any more",
		Long: `List the grants: answers of people for later calls too, with what they cover and how they stand.

A grant is active until it expires, is used up or is revoked. It is inert while calls are asked about all the same,
because the tool, the policy or the rights of those who gave it have changed; only a running bot can tell.`,
		Example: `  countersign grants list
  countersign grants list --all --json | jq -r 'select(.state == "revoked") | .id'`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.All, "all", false, "print those too that have ended")
	f.BoolVar(&c.JSON, "json", false, "print one JSON object per line")
	return cmd
}

// Run prints the grants, page by page.
func (c *grantsListCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.list(ctx, p, desk)
}

func (c *grantsListCommand) list(ctx context.Context, p *Program, desk control.Desk) error {
	if c.JSON {
		e := newEncoder(p.Stdout)
		return c.walk(ctx, desk, func(g *approvals.GrantView) error { return e.Encode(g) })
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	n := 0
	err := c.walk(ctx, desk, func(g *approvals.GrantView) error {
		if n++; n == 1 {
			fmt.Fprintln(w, "ID\tSTATE\tANSWER\tTOOL\tSCOPE\tCONDITION\tUSES\tEXPIRES\tGIVEN BY")
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Line(string(g.ID)),
			visible.Line(stateOf(g)), grantAnswer(&g.Grant), visible.Line(g.Tool+" by "+g.Agent),
			visible.Line(scopeOf(&g.Grant)), visible.Line(conditionOf(&g.Grant)), usesOf(&g.Grant), expiry(g),
			visible.Line(namesOf(g.Grantors)))
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, noGrants(c.All))
	}
	return w.Flush()
}

func noGrants(all bool) string {
	if all {
		return "There are no grants."
	}
	return "No grant is in force. --all lists those that have ended."
}

// walk hands the grants to yield: without All, those that have not ended.
func (c *grantsListCommand) walk(
	ctx context.Context, desk control.Desk, yield func(*approvals.GrantView) error,
) error {
	var cursor control.Cursor
	for more := true; more; {
		var page []*approvals.GrantView
		var err error
		if page, more, err = desk.Grants(ctx, cursor, 0); err != nil || len(page) == 0 {
			return err
		}
		for _, g := range page {
			cursor = control.CursorAtGrant(g)
			if !c.All && g.State != approvals.GrantActive && g.State != approvals.GrantInert {
				continue
			}
			if err := yield(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func stateOf(g *approvals.GrantView) string {
	if g.Why != "" {
		return string(g.State) + ": " + g.Why
	}
	return string(g.State)
}

func grantAnswer(g *approvals.Grant) string {
	if g.Deny {
		return "reject"
	}
	return "approve"
}

// scopeOf names the scope with its place.
func scopeOf(g *approvals.Grant) string {
	switch g.Scope {
	case approvals.ScopeRun:
		return "run " + string(g.Run)
	case approvals.ScopeThread:
		return "thread " + g.Place.Thread + " in " + g.Place.Channel
	case approvals.ScopeChannel:
		return "channel " + g.Place.Channel
	}
	return string(g.Scope)
}

func conditionOf(g *approvals.Grant) string {
	var all []string
	for i := range g.Condition {
		all = append(all, g.Condition[i].String())
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

func usesOf(g *approvals.Grant) string {
	if g.Uses == 0 {
		return fmt.Sprint(g.Used)
	}
	return fmt.Sprintf("%d of %d", g.Used, g.Uses)
}

func expiry(g *approvals.GrantView) string {
	if left := time.Until(g.Expires); left > 0 {
		return "in " + humanize.Duration(left)
	}
	return humanize.Duration(time.Since(g.Expires)) + " ago"
}

func namesOf(people []approvals.UserID) string {
	var all []string
	for _, u := range people {
		all = append(all, u.Local())
	}
	return strings.Join(all, ", ")
}
