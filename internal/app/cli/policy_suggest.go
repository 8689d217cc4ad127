package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/policycheck"
	"countersign/internal/visible"
)

type suggestCommand struct{ recorded }

// command is the command line's view of it.
func (c *suggestCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suggest --since TIME",
		Short: "Suggest what need not be asked, from what people always approved",
		Long: fmt.Sprintf(`Suggest thresholds and standing permissions from what people were asked since TIME and
always approved, each with the requests behind it and the line for the agents file. Nothing is
changed: whoever edits the agents file decides.

A suggestion rests on at least %d calls on %d days that people approved one by one. Nothing is suggested for a tool of
which a single call was rejected or changed by people, nor where more than one person must agree. Answers for all calls
of a tool do not count: nobody has looked at each of those. A TIME is a date and time as in RFC 3339, such as
2026-11-02T15:04:05Z, or how long ago: 90m, 24h, 90d.`, policycheck.MinRequests, policycheck.MinDays),
		Example: "  countersign policy suggest --since 90d\n" +
			"  countersign policy suggest --since 90d --tool transfer_funds --json",
		Args: none,
		RunE: l.run(c.Run),
	}
	c.flags(cmd.Flags(), "suggest for this agents `FILE` (default COUNTERSIGN_AGENTS)")
	return cmd
}

// Run reads the requests and prints what they suggest.
func (c *suggestCommand) Run(ctx context.Context, p *Program) error {
	if err := c.check(); err != nil {
		return err
	}
	tried, err := c.agents(p)
	if err != nil {
		return err
	}
	s := policycheck.NewSuggestions(tried.catalog)
	err = c.walk(ctx, p, s.Want, func(_ control.Desk, r *approvals.Request) error {
		s.Add(r)
		return nil
	})
	if err != nil {
		return err
	}
	found := s.Findings()
	if c.JSON {
		e := newEncoder(p.Stdout)
		e.SetEscapeHTML(false)
		return e.Encode(found)
	}
	return c.print(p.Stdout, &found)
}

func (c *suggestCommand) print(w io.Writer, f *policycheck.Findings) error {
	if len(f.Suggestions) == 0 {
		fmt.Fprintf(w, "Nothing to suggest from what was asked since %s.\n", c.query.Since.UTC().Format(time.DateTime))
	}
	for i := range f.Suggestions {
		printSuggestion(w, i+1, &f.Suggestions[i])
	}
	if len(f.Nothing) > 0 {
		fmt.Fprintln(w, "Nothing is suggested for:")
	}
	for _, n := range f.Nothing {
		fmt.Fprintf(w, "  %s of %s: %s\n", visible.Line(n.Tool), visible.Line(n.Agent), visible.Line(n.Why))
	}
	if f.Dropped > 0 {
		fmt.Fprintf(w, "%s of further tools were not looked at; choose one with --tool.\n", requests(f.Dropped))
	}
	return nil
}

// printSuggestion says what is suggested, what it rests on and what to write.
func printSuggestion(w io.Writer, n int, s *policycheck.Suggestion) {
	fmt.Fprintf(w, "%d. Do not ask about %s of %s where\n     %s\n", n, visible.Line(s.Tool), visible.Line(s.Agent),
		visible.Line(s.Condition))
	fmt.Fprintf(w, "   People approved all %d such calls, of %d asked about, on %d days between %s and %s; by %s.\n",
		s.Spares, s.Counts.Asked, s.Days, s.First.UTC().Format(time.DateOnly), s.Last.UTC().Format(time.DateOnly),
		visible.Line(counted(s.ApprovedBy)))
	if c := s.Counts; c.Open+c.Standing+c.Emergency > 0 {
		fmt.Fprintf(w, "   Not counted: %d that nobody decided, %d under an answer for all calls, %d in an "+
			"emergency.\n",
			c.Open, c.Standing, c.Emergency)
	}
	fmt.Fprintf(w, "   That few say: of later calls like these, people might still reject up to %.0f %% "+
		"(with 95 %% confidence).\n", 100*s.RejectedAtMost)
	if free := leftFree(s); free != "" {
		fmt.Fprintf(w, "   Left free: %s. Whatever is in there would run without asking.\n", visible.Line(free))
	}
	fmt.Fprintf(w, "   Requests: %s\n", ids(s.Requests[:min(10, len(s.Requests))], len(s.Requests)))
	fmt.Fprintf(w, "   In the agents file, at the tool:\n     needs_approval: %s\n\n", visible.Line(yamlText(s.Gate)))
}

// counted lists people by how often they approved.
func counted(by map[string]int) string {
	people := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(by[b]-by[a], strings.Compare(a, b))
	})
	for i, who := range people {
		people[i] = fmt.Sprintf("%s (%d)", who, by[who])
	}
	return strings.Join(people, ", ")
}

// leftFree lists the arguments that a suggestion does not bind, with how many values they had.
func leftFree(s *policycheck.Suggestion) string {
	var words []string
	for _, name := range sortedKeys(s.Unbound) {
		values := fmt.Sprintf("%d values", s.Unbound[name])
		switch s.Unbound[name] {
		case 0:
			values = "no call had it"
		case 1:
			values = "1 value"
		}
		words = append(words, fmt.Sprintf("%s (%s)", name, values))
	}
	if s.Open {
		words = append(words, "arguments that the tool's parameters do not name (additionalProperties is not false)")
	}
	return strings.Join(words, ", ")
}

// yamlText writes a text for YAML, which reads strings in the form of JSON.
func yamlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
