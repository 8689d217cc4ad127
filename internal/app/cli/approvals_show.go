package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type showCommand struct {
	ID, As       string
	JSON, Reveal bool
}

// command is the command line's view of it.
func (c *showCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one request with its arguments, decisions and outcome",
		Long: `Show the request ID, as on its card and in the list: how it stands, ` +
			`what became of its call (running, ran,
failed, not run, unknown), its arguments and decisions.

Secret arguments (secret: in the agents file) stand as ••• with their length. With --reveal their values are printed,
in the name of a Slack user who may decide the request now; the audit trail says that they were, and to whom.`,
		Example: "  countersign approvals show req_06f1k8…\n" +
			"  countersign approvals show req_06f1k8… --reveal --as U0123456789",
		Args: one("a request's id", &c.ID),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print the whole record as one JSON object")
	f.BoolVar(&c.Reveal, "reveal", false, "print the values of secret arguments, which is recorded")
	f.StringVar(&c.As, "as", "", "with --reveal: the Slack `USER` who is shown them, such as U0123456789")
	return cmd
}

// Run prints one request.
func (c *showCommand) Run(ctx context.Context, p *Program) error {
	if c.Reveal {
		return c.reveal(ctx, p)
	}
	if c.As != "" {
		return misused("--as goes with --reveal: anybody who may run this command is shown the rest")
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Request(ctx, approvals.RequestID(c.ID))
	if err != nil {
		return err
	}
	return c.print(p, r)
}

// reveal prints one request with its secret values.
func (c *showCommand) reveal(ctx context.Context, p *Program) error {
	if c.As == "" {
		return misused("who is shown the secret values? --as takes the id of a Slack user, such as U0123456789")
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
	r, err = desk.Reveal(ctx, approvals.RevealIn{
		Workspace: r.Workspace, Request: r.ID, By: approvals.NewUserID(r.Workspace, c.As), Via: control.Via,
	})
	if err != nil {
		return err
	}
	return c.print(p, r)
}

// print writes the request without secret values, unless it was revealed.
func (c *showCommand) print(p *Program, r *approvals.Request) error {
	r = r.Mask()
	if c.JSON {
		e := newEncoder(p.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return printRequest(p.Stdout, r)
}

// printRequest writes what people decide on. All of it but secret values: what was shown is what is decided.
func printRequest(w io.Writer, r *approvals.Request) error {
	r = r.Mask()
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-12s %s\n", name, visible.Line(value)) }
	list := func(name string, lines []string) {
		for _, text := range lines {
			line(name, text)
			name = ""
		}
	}
	line("request", string(r.ID))
	line("status", statusLine(&r.RequestHead)+dated(", since ", r.Settled))
	line("outcome", callLine(&r.RequestHead))
	if r.Note != "" {
		line("note", r.Note)
	}
	line("asks", questionWords(&r.RequestHead))
	if sending := r.Sending(); sending != "" {
		line("sent", sending)
	}
	line("tool", r.Tool.Name+" ("+string(r.Tool.Kind)+")")
	if r.Tool.Description != "" {
		line("description", r.Tool.Description)
	}
	list("bound to", r.Tool.Binding)
	line("agent", strings.Join(r.Path, " > "))
	line("requester", r.Requester.Local())
	line("channel", r.Place.Channel)
	line("run", string(r.Run))
	line("needs", r.Requirement.Describe())
	for _, q := range r.Inherited {
		line("needs too", q.Describe()+" (asked for before the arguments were changed)")
	}
	for _, u := range r.Editors {
		line("changed by", u.Local())
	}
	list("policy", policyLines(&r.Requirement))
	line("created", r.Created.UTC().Format(time.RFC3339))
	if !r.Expires.IsZero() {
		line("expires", r.Expires.UTC().Format(time.RFC3339))
	}
	if r.Supersedes != "" {
		line("replaces", string(r.Supersedes))
	}
	if r.SupersededBy != "" {
		line("replaced by", string(r.SupersededBy))
	}
	line("digest", r.Digest.String())
	for _, d := range r.Decisions {
		line("decision", decisionLine(d))
	}
	switch {
	case r.Review != nil:
		line("review", fmt.Sprintf("%s by %s at %s: %s", r.Review.Verdict, r.Review.By.Local(),
			r.Review.At.UTC().Format(time.RFC3339), r.Review.Reason))
	case r.AwaitsReview():
		line("review", "waits for one: it was decided past its policy")
	}
	if names := r.Withheld(); len(names) > 0 {
		line("secret", strings.Join(names, ", ")+
			" (masked as •••; --reveal --as USER prints it for somebody who may decide)")
	}
	for _, v := range r.Revelations {
		line("revealed", "to "+v.By.Local()+" at "+v.At.UTC().Format(time.RFC3339))
	}
	line("arguments", "")
	b.WriteString(indentArguments(r.Arguments, r.Secret))
	if r.Original != nil {
		line("model wrote", "")
		b.WriteString(indentArguments(r.Original, r.Secret))
		list("changes", texts(r.Changes()))
	}
	list("to fill in", r.FieldLines())
	list("question", questionLines(r))
	list("depends on", r.Facts)
	list("in words", r.Explanation)
	_, err := io.WriteString(w, b.String())
	return err
}

// texts writes each of the values on a line.
func texts[T fmt.Stringer](values []T) (lines []string) {
	for _, v := range values {
		lines = append(lines, v.String())
	}
	return lines
}

// policyLines say which policy asks, what stands for its words and its file, and what its condition was evaluated with.
func policyLines(q *approvals.Requirement) (lines []string) {
	if q.Policy == "" {
		return nil
	}
	first := q.Policy
	if q.Hash != (agent.Digest{}) {
		first += ", hash " + q.Hash.String()
	}
	if q.Version != "" {
		first += ", version " + q.Version
	}
	if q.Risk == approvals.RiskHigh {
		first += ", high risk"
	}
	lines = append(lines, first)
	for _, v := range q.Vars {
		lines = append(lines, "vars."+v.Name+" = "+v.Value)
	}
	for _, z := range q.Freeze {
		lines = append(lines, "frozen "+z.Describe())
	}
	return lines
}

// questionWords say what a request waits for.
func questionWords(r *approvals.RequestHead) string {
	if r.IsQuestion() {
		return "for an answer to a question of the agent; nothing runs"
	}
	switch r.Kind {
	case agent.Confirm:
		return "whether the call may run"
	case agent.OutcomeUnknown:
		return "what became of the call, which was begun"
	case agent.ExternalResult:
		return "for the result of the call, which somebody carries out elsewhere"
	case agent.FieldsRequired:
		return "for values of the call, which people fill in"
	}
	return string(r.Kind)
}

// statusLine says how the request stands. Who cancelled the run of an approved one has not approved it.
func statusLine(r *approvals.RequestHead) string {
	if r.CancelledBy != "" && r.Status == approvals.RequestCancelled {
		return string(r.Status) + " by " + r.CancelledBy.Local()
	}
	return string(r.Status)
}

// decider names who answered, and on whose behalf if not their own.
func decider(d approvals.Decision) string {
	if d.For == "" {
		return d.By.Local()
	}
	return d.By.Local() + " for " + d.For.Local()
}

// decisionLine says who answered what, on what that rests, and whether it counts.
func decisionLine(d approvals.Decision) string {
	s := fmt.Sprintf("%s by %s via %s at %s", d.Verdict, decider(d), d.Via, d.At.UTC().Format(time.RFC3339))
	if d.Standing != nil {
		s += ", following from the standing answer to " + string(d.Standing.Request)
	}
	if d.Issuer != "" {
		s += ", with a token made for " + d.Issuer.Local()
	}
	if d.Void != "" {
		s += ", counts no longer (" + d.Void + ")"
	}
	for _, text := range d.Answers {
		s += fmt.Sprintf(", answering %q", text)
	}
	if d.Input != nil {
		s += ", filling in " + string(d.Input)
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s
}

// withoutQuotes takes the quotes off the mask on a line such as `"memo": "••• (12 characters)",`.
func withoutQuotes(line string, secret []string) string {
	for _, name := range secret {
		quoted, err := json.Marshal(name)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(line, string(quoted)+`: "`); ok {
			mask, comma, _ := strings.Cut(rest, `"`)
			return string(quoted) + ": " + mask + comma
		}
	}
	return line
}

// indentArguments spreads canonical JSON over lines; nothing of it is left out. Masks of the secret arguments stand
// without quotes, as no value does.
func indentArguments(arguments json.RawMessage, secret []string) string {
	var b bytes.Buffer
	if json.Indent(&b, arguments, "  ", "  ") != nil {
		return "  " + visible.Line(string(arguments)) + "\n"
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")     // what stands before it is indentation made here
		if len(line)-len(text) == len("    ") { // an argument itself, not a part of one
			text = withoutQuotes(text, secret)
		}
		lines[i] = line[:len(line)-len(strings.TrimLeft(line, " "))] + visible.Line(text)
	}
	return "  " + strings.Join(lines, "\n") + "\n"
}
