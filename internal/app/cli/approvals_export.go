package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
)

type requestsExportCommand struct {
	Output, Format string
	From, To       time.Time
	JSON           bool // as --format jsonl, which it is without it
}

// command is the command line's view of it.
func (c *requestsExportCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what was asked, decided and done, one request a line, compared with the audit trail",
		Long: `Write the requests that were made from a time to another, one a line: JSON objects, or CSV.

Each is compared with the audit trail; "audit" is ok, or says how they differ, and then the exit code is 1. A request
that was removed from the store has no line: "countersign audit verify" names it.

` + exportTimes,
		Example: `  countersign approvals export --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --format csv
  countersign approvals export --from 7d | jq 'select(.audit != "ok")'`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&c.Output, "output", "o", "", "write to this new `FILE` instead of the standard output")
	f.Func("format", "`jsonl` or csv (default jsonl)", exportFormat(&c.Format))
	f.Func("from", "only requests made at the `TIME` or later", instant(&c.From))
	f.Func("to", "only requests made before the `TIME`", instant(&c.To))
	f.Func("since", "as --from", instant(&c.From))
	f.Func("until", "as --to", instant(&c.To))
	f.BoolVar(&c.JSON, "json", false, "as --format jsonl")
	for _, name := range []string{"since", "until", "json"} {
		f.Lookup(name).Hidden = true
	}
	return cmd
}

// Run writes every request as a line. The error is nil only when all are as the trail says.
func (c *requestsExportCommand) Run(ctx context.Context, p *Program) error {
	if c.JSON && c.Format == formatCSV {
		return misused("--json and --format csv exclude each other")
	}
	if !c.From.IsZero() && !c.To.IsZero() && !c.From.Before(c.To) {
		return misused("--from (%s) is not before --to (%s): no request can match",
			c.From.Format(time.RFC3339), c.To.Format(time.RFC3339))
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	var differ int
	if c.Output == "" {
		differ, err = c.export(ctx, desk, p.Stdout, terminal(), p.progress(time.Now))
	} else {
		err = writeNew(c.Output, func(f *os.File) (err error) {
			differ, err = c.export(ctx, desk, f, file(), p.progress(time.Now))
			return err
		})
	}
	if err == nil && differ > 0 {
		err = fmt.Errorf("%d of the requests are not as the audit trail says; audit says how, and "+
			"\"countersign audit verify\" says more", differ)
	}
	return err
}

// export writes the requests to w and returns how many are not as the trail says.
func (c *requestsExportCommand) export(
	ctx context.Context, desk control.Desk, w io.Writer, m medium, progress func(read int),
) (differ int, err error) {
	b := bufio.NewWriter(w)
	write, end, err := c.writer(b, m)
	if err != nil {
		return 0, err
	}
	what := approvals.RequestExport{From: c.From, To: c.To, Progress: progress}
	err = desk.ExportRequests(ctx, what, func(r *approvals.ExportedRequest) error {
		if r.Audit != approvals.AuditAgrees {
			differ++
		}
		return write(r)
	})
	if err == nil {
		err = end()
	}
	if err != nil {
		return differ, err
	}
	return differ, b.Flush()
}

// writer returns what writes a request, and what writes the end.
func (c *requestsExportCommand) writer(w io.Writer, m medium) (
	write func(*approvals.ExportedRequest) error, end func() error, err error,
) {
	if c.Format != formatCSV {
		e := m.encoder(w)
		e.SetEscapeHTML(false)
		return func(r *approvals.ExportedRequest) error { return e.Encode(r) }, func() error { return nil }, nil
	}
	t, err := newCSV(w, m.cell, "workspace", "id", "run", "channel", "agent", "tool", "kind", "requester", "created",
		"arguments", "status", "settled", "expires", "outcome", "outcome_at", "policy", "digest", "decisions", "audit")
	if err != nil {
		return nil, nil, err
	}
	return func(r *approvals.ExportedRequest) error {
		return t.row(string(r.Workspace), string(r.ID), string(r.Run), r.Channel, r.Agent, r.Tool, string(r.Kind),
			string(r.Requester), csvInstant(r.Created), string(r.Arguments), string(r.Status), csvInstant(r.Settled),
			csvInstant(r.Expires), string(r.Outcome), csvInstant(r.OutcomeAt), r.Policy, r.Digest.String(),
			decisionsCell(r.Decisions), r.Audit)
	}, t.end, nil
}

// decisionsCell is the answers in one cell: who, what, when and how, each behind a semicolon.
func decisionsCell(all []approvals.ExportedDecision) string {
	cells := make([]string, len(all))
	for i, d := range all {
		cells[i] = fmt.Sprintf("%s %s %s %s", d.By, d.Verdict, csvInstant(d.At), d.Via)
		if d.For != "" {
			cells[i] += " for " + string(d.For)
		}
		if d.Void != "" {
			cells[i] += " void"
		}
	}
	return strings.Join(cells, "; ")
}
