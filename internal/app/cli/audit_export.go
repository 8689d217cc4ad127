package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type exportCommand struct {
	Output, Format string
	Since, Until   time.Time
	Workspace      string
	JSON           bool // as --format jsonl, which it is without it
}

// command is the command line's view of it.
func (c *exportCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the audit trail, one entry a line",
		Long: `Write the audit trail, one entry a line: JSON objects, or CSV.

Entries hold digests and verdicts, never arguments. docs/audit.md describes every action and its data.

` + exportTimes,
		Example: `  countersign audit export -o audit.jsonl
  countersign audit export --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --format csv -o november.csv`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&c.Output, "output", "o", "", "write to this new `FILE` instead of the standard output")
	f.Func("format", "`jsonl` or csv (default jsonl)", exportFormat(&c.Format))
	f.Func("since", "only entries of the `TIME` or later", instant(&c.Since))
	f.Func("until", "only entries before the `TIME`", instant(&c.Until))
	f.Func("workspace", "only entries of the workspace `ID`", given(&c.Workspace))
	f.BoolVar(&c.JSON, "json", false, "as --format jsonl")
	f.Lookup("json").Hidden = true
	return cmd
}

// Run writes every entry as a line.
func (c *exportCommand) Run(ctx context.Context, p *Program) error {
	if c.JSON && c.Format == formatCSV {
		return misused("--json and --format csv exclude each other")
	}
	if !c.Since.IsZero() && !c.Until.IsZero() && !c.Since.Before(c.Until) {
		return misused("--since (%s) is not before --until (%s): no entry can match",
			c.Since.Format(time.RFC3339), c.Until.Format(time.RFC3339))
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	if c.Output == "" {
		return c.export(ctx, desk, p.Stdout, terminal())
	}
	return writeNew(c.Output, func(f *os.File) error { return c.export(ctx, desk, f, file()) })
}

// medium is how texts of others are written: a file has them as they are, a terminal so that they have no effect there.
type medium struct {
	encoder func(io.Writer) *json.Encoder
	cell    func(string) string
}

func terminal() medium { return medium{newEncoder, visible.Line} }

func file() medium { return medium{json.NewEncoder, asIs} }

// export writes the entries that were asked for to w. A workspace without any entry is none that the store knows.
func (c *exportCommand) export(ctx context.Context, desk control.Desk, w io.Writer, m medium) error {
	b := bufio.NewWriter(w)
	write, end, err := c.writer(b, m)
	if err != nil {
		return err
	}
	known := c.Workspace == ""
	err = desk.ExportAudit(ctx, func(e *approvals.AuditEntry) error {
		known = known || string(e.Workspace) == c.Workspace
		if !c.selects(e) {
			return nil
		}
		return write(e)
	})
	if err == nil && !known {
		err = fmt.Errorf("audit export: %w: there is no workspace %q", approvals.ErrNotFound, c.Workspace)
	}
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// selects reports whether the entry was asked for.
func (c *exportCommand) selects(e *approvals.AuditEntry) bool {
	return (c.Workspace == "" || string(e.Workspace) == c.Workspace) &&
		!e.At.Before(c.Since) && (c.Until.IsZero() || e.At.Before(c.Until))
}

// writer returns what writes an entry, and what writes the end.
func (c *exportCommand) writer(w io.Writer, m medium) (write func(*approvals.AuditEntry) error, end func() error,
	err error,
) {
	if c.Format != formatCSV {
		e := m.encoder(w)
		e.SetEscapeHTML(false)
		return func(entry *approvals.AuditEntry) error { return e.Encode(entry) }, func() error { return nil }, nil
	}
	t, err := newCSV(w, m.cell, "workspace", "seq", "at", "action", "actor", "run", "request", "data", "id", "prev",
		"hash", "content")
	if err != nil {
		return nil, nil, err
	}
	return func(e *approvals.AuditEntry) error {
		return t.row(string(e.Workspace), strconv.FormatUint(e.Seq, 10), csvInstant(e.At), string(e.Action), e.Actor,
			string(e.Run), string(e.Request), string(e.Data), string(e.ID), e.Prev.String(), e.Hash.String(),
			e.Content.String())
	}, t.end, nil
}
