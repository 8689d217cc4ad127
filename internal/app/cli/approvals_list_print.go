package cli

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/humanize"
	"countersign/internal/visible"
)

// walker hands the requests of a list to yield, one after the other.
type walker func(yield func(*approvals.RequestHead) error) error

// number prints how many requests there are.
func (c *listCommand) number(p *Program, walk walker) error {
	n := 0
	if err := walk(func(*approvals.RequestHead) error { n++; return nil }); err != nil {
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

func (c *listCommand) lines(p *Program, walk walker) error {
	e := newEncoder(p.Stdout)
	return walk(func(r *approvals.RequestHead) error { return e.Encode(newSummary(r)) })
}

// table prints what people look for in such a list: of requests that wait for how long they still do, of others what
// became of them.
func (c *listCommand) table(p *Program, walk walker) error {
	heading, cells := "STATUS\tCALL\tASKED", settledCells
	nothing := "No request matches."
	if c.query.Status == approvals.RequestPending {
		heading, cells = "WAITING\tEXPIRES", pendingCells
		nothing = "No pending request matches."
	}
	if c.query == (control.Query{Status: approvals.RequestPending}) {
		nothing = "Nothing is pending."
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 4, 2, ' ', 0)
	n := 0
	err := walk(func(r *approvals.RequestHead) error {
		if n++; n == 1 {
			fmt.Fprintln(w, "ID\tASKS FOR\tTOOL\tAGENT\tREQUESTER\tCHANNEL\t"+heading)
		}
		s := newSummary(r)
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Line(string(s.ID)), wanted(r),
			visible.Line(s.Tool), visible.Line(s.Agent), visible.Line(s.Requester), visible.Line(s.Channel), cells(r))
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, nothing)
	}
	return w.Flush()
}

func pendingCells(r *approvals.RequestHead) string {
	return humanize.Duration(time.Since(r.Created)) + "\t" + until(r.Expires)
}

func settledCells(r *approvals.RequestHead) string {
	return visible.Line(string(r.Status)) + "\t" + visible.Line(cmp.Or(callWord(r), "-")) + "\t" +
		humanize.Duration(time.Since(r.Created)) + " ago"
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
	Outcome   approvals.Outcome     `json:"outcome"`
	Digest    string                `json:"digest"`
	Created   time.Time             `json:"created"`
	Expires   time.Time             `json:"expires,omitzero"`
	Settled   time.Time             `json:"settled,omitzero"`
	OutcomeAt time.Time             `json:"outcome_at,omitzero"`
}

func newSummary(r *approvals.RequestHead) summary {
	return summary{
		ID: r.ID, Workspace: r.Workspace, Run: r.Run, Kind: string(r.Kind), Tool: r.Tool.Name, Agent: r.Agent,
		Requester: r.Requester.Local(), Channel: r.Place.Channel, Status: string(r.Status), Outcome: r.Outcome,
		Digest: r.Digest.String(), Created: r.Created, Expires: r.Expires, Settled: r.Settled, OutcomeAt: r.OutcomeAt,
	}
}

// wanted names in a word what a request waits for.
func wanted(r *approvals.RequestHead) string {
	if r.IsQuestion() {
		return "answer"
	}
	switch r.Kind {
	case agent.InterruptionKind(control.Recorded):
		return "nothing"
	case agent.Confirm:
		return "approval"
	case agent.OutcomeUnknown:
		return "outcome"
	case agent.ExternalResult:
		return "result"
	case agent.FieldsRequired:
		return "values"
	}
	return visible.Line(string(r.Kind))
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
