package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/policycheck"
	"countersign/internal/visible"
)

type simulateCommand struct{ recorded }

// command is the command line's view of it.
func (c *simulateCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate --since TIME",
		Short: "Replay what people were asked against a changed agents file",
		Long: `Replay what people were asked since TIME against the agents file, or another one (--file): how many would
be asked, allowed or refused, what would change for each request, and how much each approver would have to do.

Nothing is run, asked or written, and neither Slack nor an MCP server is contacted. Who belongs to groups and channels
is therefore not known: only what the file itself makes impossible counts as refused. Calls that nobody was asked about
are not in the records with their arguments, so a file that asks about more of them shows nothing of it here. A TIME is
a date and time as in RFC 3339, such as 2026-11-02T15:04:05Z, or how long ago: 90m, 24h, 30d. With --json there is one
object per request, and the summary as the last.`,
		Example: "  countersign policy simulate --since 30d --file changed.yaml\n" +
			"  countersign policy simulate --since 30d --json | jq -r 'select(.changes).id'",
		Args: none,
		RunE: l.run(c.Run),
	}
	c.flags(cmd.Flags(), "replay against this agents `FILE` (default COUNTERSIGN_AGENTS)")
	return cmd
}

// Run replays the requests and prints what would change.
func (c *simulateCommand) Run(ctx context.Context, p *Program) error {
	if err := c.check(); err != nil {
		return err
	}
	tried, err := c.agents(p)
	if err != nil {
		return err
	}
	replay := policycheck.NewReplay()
	e := newEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	want := func(r *approvals.RequestHead) bool { return !replay.Skip(r) }
	err = c.walk(ctx, p, want, func(desk control.Desk, r *approvals.Request) error {
		v, err := tried.judge(ctx, desk, r)
		if err != nil {
			return err
		}
		replayed := replay.Add(&r.RequestHead, v)
		if !c.JSON {
			return nil
		}
		return e.Encode(replayed)
	})
	if err != nil {
		return err
	}
	report := replay.Report()
	if c.JSON {
		return e.Encode(map[string]any{"summary": report})
	}
	return c.print(p.Stdout, &report)
}

// fateLines are what a summary says of each fate, in this order.
var fateLines = []struct {
	fate policycheck.Fate
	text string
}{
	{policycheck.Asked, "would be asked"},
	{policycheck.Allowed, "would run without asking"},
	{policycheck.Recorded, "would run without asking, and be recorded for review"},
	{policycheck.Impossible, "would be refused: nobody could meet the policy"},
	{policycheck.Unusable, "would be refused: their arguments do not fit the tool's schema any more"},
	{policycheck.Gone, "are calls of tools that no longer exist"},
	{policycheck.Unknown, "are calls of an MCP server's tools, of which only the server says whether they ask"},
}

func (c *simulateCommand) print(w io.Writer, r *policycheck.Report) error {
	fmt.Fprintf(w, "%s asked since %s, against %s:\n", requests(r.Requests),
		c.query.Since.UTC().Format(time.DateTime), visible.Line(c.fileName()))
	for _, line := range fateLines {
		if n := r.Fates[line.fate]; n > 0 {
			fmt.Fprintf(w, "  %6d  %s\n", n, line.text)
		}
	}
	if r.Requests > 0 {
		fmt.Fprintf(w, "  %6d  exactly as they were\n", r.Same)
	}
	printLeftOut(w, r.LeftOut)
	printChanges(w, r)
	if err := printLoad(w, r.Load); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nNot in the records, and so not counted: calls that nobody was asked about. "+
		"Who belongs to groups and channels\nwas not looked up.")
	return err
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

func printLeftOut(w io.Writer, reasons map[string]int) {
	for _, why := range sortedKeys(reasons) {
		fmt.Fprintf(w, "  %6d  left out: %s\n", reasons[why], why)
	}
}

func printChanges(w io.Writer, r *policycheck.Report) {
	for i := range r.Changes {
		c := &r.Changes[i]
		fmt.Fprintf(w, "\n%s of %s by %s:\n", requests(c.Count), visible.Line(c.Tool), visible.Line(c.Agent))
		for _, what := range c.What {
			fmt.Fprintf(w, "  %s\n", visible.Line(what))
		}
		fmt.Fprintf(w, "  %s\n", ids(c.Requests, c.Count))
	}
	if r.Other > 0 {
		fmt.Fprintf(w, "\n%s changed in still other ways; --json lists them.\n", requests(r.Other))
	}
}

// ids names the first requests of so many.
func ids(first []approvals.RequestID, of int) string {
	names := make([]string, len(first))
	for i, id := range first {
		names[i] = string(id)
	}
	text := strings.Join(names, " ")
	if more := of - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func printLoad(w io.Writer, load []policycheck.Load) error {
	if len(load) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nREQUESTS FOR\tBEFORE\tAFTER")
	for _, l := range load {
		fmt.Fprintf(t, "%s\t%d\t%d\n", visible.Line(l.Who), l.Before, l.After)
	}
	return t.Flush()
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
