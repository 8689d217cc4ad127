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
	"countersign/internal/visible"
)

type showCommand struct {
	ID   string
	JSON bool
}

// command is the command line's view of it.
func (c *showCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one request with its arguments, decisions and outcome",
		Long: `Show the request ID, as on its card and in the list: how it stands, ` +
			`what became of its call (running, ran,
failed, not run, unknown), its arguments and decisions.`,
		Example: "  countersign approvals show req_06f1k8…",
		Args:    one("a request's id", &c.ID),
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print the whole record as one JSON object")
	return cmd
}

// Run prints one request.
func (c *showCommand) Run(ctx context.Context, p *Program) error {
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

func (c *showCommand) print(p *Program, r *approvals.Request) error {
	if c.JSON {
		e := newEncoder(p.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return printRequest(p.Stdout, r)
}

// printRequest writes what people decide on. All of it: what was shown is what is decided.
func printRequest(w io.Writer, r *approvals.Request) error {
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
	line("asks", questionWords(r.Kind))
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
	line("arguments", "")
	b.WriteString(indentArguments(r.Arguments))
	list("depends on", r.Facts)
	list("in words", r.Explanation)
	_, err := io.WriteString(w, b.String())
	return err
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

// questionWords say what a request of the kind waits for.
func questionWords(kind agent.InterruptionKind) string {
	switch kind {
	case agent.Confirm:
		return "whether the call may run"
	case agent.OutcomeUnknown:
		return "what became of the call, which was begun"
	case agent.ExternalResult:
		return "for the result of the call, which somebody carries out elsewhere"
	}
	return string(kind)
}

// statusLine says how the request stands.
func statusLine(r *approvals.RequestHead) string {
	if r.CancelledBy != "" {
		return string(r.Status) + " by " + r.CancelledBy.Local()
	}
	return string(r.Status)
}

// decisionLine says who answered what, on what that rests, and whether it counts.
func decisionLine(d approvals.Decision) string {
	s := fmt.Sprintf("%s by %s via %s at %s", d.Verdict, d.By.Local(), d.Via, d.At.UTC().Format(time.RFC3339))
	if d.Standing != nil {
		s += ", following from the standing answer to " + string(d.Standing.Request)
	}
	if d.Void != "" {
		s += ", counts no longer (" + d.Void + ")"
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s
}

// indentArguments spreads canonical JSON over lines; nothing of it is left out.
func indentArguments(arguments json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, arguments, "  ", "  ") != nil {
		return "  " + visible.Line(string(arguments)) + "\n"
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ") // what stands before it is indentation made here
		lines[i] = line[:len(line)-len(text)] + visible.Line(text)
	}
	return "  " + strings.Join(lines, "\n") + "\n"
}
