package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/humanize"
	"countersign/internal/visible"
)

type runsShowCommand struct {
	ID   string
	JSON bool
}

// command is the command line's view of it.
func (c *runsShowCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one run with what was asked, decided and done in it",
		Long: `Show the run ID: what was asked for, how it stands and why it ended, what people were asked and who
decided, what became of each call, what guardrails did, and how many turns and tokens it took.

Arguments of the calls are not printed; "approvals show" prints those that people were asked about. Calls that ran at
once and are to be looked at afterwards (approval: audit) are marked "for review".`,
		Example: `  countersign runs show run_06f1k8…
  countersign runs show run_06f1k8… --json | jq '.effects[] | select(.review)'`,
		Args: one("a run's id", &c.ID),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print all that is recorded as one JSON object")
	return cmd
}

// Run prints one run.
func (c *runsShowCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Run(ctx, approvals.RunID(c.ID))
	if err != nil {
		return err
	}
	return c.print(p, r)
}

func (c *runsShowCommand) print(p *Program, r *approvals.RunRecord) error {
	if c.JSON {
		e := newEncoder(p.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return printRun(p.Stdout, r)
}

// sheet is lines of a name and a value.
type sheet struct{ strings.Builder }

func (s *sheet) line(name, value string) { fmt.Fprintf(s, "%-12s %s\n", name, visible.Line(value)) }

// some is line for a value that may be missing.
func (s *sheet) some(name, value string) {
	if value != "" {
		s.line(name, value)
	}
}

func printRun(w io.Writer, r *approvals.RunRecord) error {
	var s sheet
	s.line("run", string(r.ID))
	s.line("status", runStatusLine(&r.Run))
	s.some("why", r.Failure)
	s.some("waits", r.Waits)
	s.line("agent", r.Agent)
	s.line("requester", r.Requester.Local())
	s.line("channel", r.Place.Channel)
	s.line("thread", r.Place.Thread)
	s.line("created", r.Created.UTC().Format(time.RFC3339))
	if !r.Ended.IsZero() {
		s.line("ended", r.Ended.UTC().Format(time.RFC3339)+", after "+took(&r.Run))
	}
	s.some("retry of", string(r.RetryOf))
	s.some("retried as", string(r.RetriedAs))
	s.line("cost", costLine(&r.Run))
	s.line("input", r.Input)
	s.some("answer", r.Output)
	for _, q := range r.Requests {
		s.line("request", requestLine(q))
		for _, d := range q.Decisions {
			s.line("", decisionLine(d))
		}
	}
	for i := range r.Effects {
		s.line("call", effectLine(&r.Effects[i]))
	}
	for _, g := range r.Grants {
		s.line("grant", fmt.Sprintf("%s by %s: %s", g.ID, namesOf(g.Grantors), g.Terms()))
	}
	for _, v := range r.Guardrails {
		s.line("guardrail", guardrailLine(v))
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func runStatusLine(r *approvals.Run) string {
	if r.CancelledBy != "" {
		return string(r.Status) + " by " + r.CancelledBy.Local()
	}
	return string(r.Status)
}

// costLine says what is recorded of what a run costs: the turns of the run's own model and the tokens of all.
func costLine(r *approvals.Run) string {
	u := r.Usage
	text := fmt.Sprintf("%d turns, %d model calls, %d tokens (%d in, %d out", r.Turns, u.Requests, u.TotalTokens,
		u.InputTokens, u.OutputTokens)
	if u.CachedTokens > 0 {
		text += fmt.Sprintf(", %d from a cache", u.CachedTokens)
	}
	if u.ReasoningTokens > 0 {
		text += fmt.Sprintf(", %d of them reasoning", u.ReasoningTokens)
	}
	return text + ")"
}

// requestLine says of a request both facts: what people decided, and what became of its call.
func requestLine(q *approvals.RequestHead) string {
	text := fmt.Sprintf("%s %s of %s: %s", q.ID, wanted(q), q.Tool.Name, statusLine(q))
	if word := callWord(q); word != "" {
		text += ", " + word + cancelledFirst(q)
	}
	if q.Requirement.Policy != "" {
		text += ", policy " + q.Requirement.Policy
	}
	if q.Note != "" {
		text += " (" + q.Note + ")"
	}
	return text
}

// effectLine says what became of one execution of a tool, what allowed it, and which digests it has in the trail.
func effectLine(e *approvals.RunEffect) string {
	text := fmt.Sprintf("%s by %s: %s", e.Tool, cmp.Or(e.Agent, "-"), cmp.Or(string(e.Outcome), "not known"))
	if !e.Done.IsZero() {
		text += " after " + elapsed(time.Duration(e.Milliseconds)*time.Millisecond)
	}
	if e.OutputBytes > 0 {
		text += fmt.Sprintf(", returned %d bytes", e.OutputBytes)
	}
	text += ", begun " + e.Intent.UTC().Format(time.RFC3339)
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	switch {
	case e.BreakGlass != "":
		text += ", allowed by the emergency decision " + string(e.BreakGlass)
	case e.Grant != "":
		text += ", under " + string(e.Grant)
	case e.Request != "":
		text += ", as " + string(e.Request) + " allowed"
	case e.Review:
		text += ", for review: nobody was asked"
	default:
		text += ", ungated"
	}
	return text + ", digest " + e.Digest.String()
}

// elapsed says how long a call took, to the tenth of a second where that is much of it.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return humanize.Duration(d)
}

// guardrailLine says what a guardrail did.
func guardrailLine(v approvals.GuardrailVerdict) string {
	text := v.Guardrail + " of " + v.Agent
	if v.Tool != "" {
		text = v.Guardrail + " of the tool " + v.Tool
	}
	text += " (" + v.Stage + "): " + cmp.Or(v.Action, "let it pass")
	if v.Message != "" {
		text += ": " + v.Message
	}
	return text
}
