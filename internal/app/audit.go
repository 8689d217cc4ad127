package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"countersign/approvals"
	"countersign/internal/app/control"
)

type verifyCommand struct {
	JSON bool `help:"Print JSON."`
}

// Help is the text below the usage line.
func (verifyCommand) Help() string {
	return `Every entry's hash and its link to the entry before are recomputed. Keep the heads that are printed somewhere else:
they show later whether the end of the trail was cut off.

Example:

    countersign audit verify
`
}

// Run prints one line for each workspace, or which entry is wrong.
func (c *verifyCommand) Run(ctx context.Context, p *Program) error {
	cfg, err := ReadConfig()
	if err != nil {
		return err
	}
	desk, done, err := p.desk(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()
	return verifyAudit(ctx, p.Stdout, desk, c.JSON)
}

// verifyAudit verifies and prints the result. The error is nil only when the whole trail is in order.
func verifyAudit(ctx context.Context, w io.Writer, desk control.Desk, asJSON bool) error {
	report, err := desk.VerifyAudit(ctx)
	if broken, ok := errors.AsType[*approvals.AuditError](err); ok && !asJSON {
		fmt.Fprintf(w, "audit: BROKEN in workspace %s at entry %d: %s\n", broken.Workspace, broken.Seq, broken.Reason)
		return errSilent
	}
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(w).Encode(report)
	}
	if len(report.Workspaces) == 0 {
		_, err = fmt.Fprintln(w, "audit: ok, no entries")
	}
	for _, ws := range report.Workspaces {
		_, err = fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, head %s\n", ws.Workspace, ws.Entries, ws.Head)
	}
	return err
}

type exportCommand struct {
	Output string `short:"o" help:"Write to this new file instead of the standard output." placeholder:"FILE"`
	JSON   bool   `hidden:"" help:"The export is always JSON."`
}

// Help is the text below the usage line.
func (exportCommand) Help() string {
	return "Entries hold digests and verdicts, never arguments.\n\nExample:\n\n    countersign audit export -o audit.jsonl\n"
}

// Run writes every entry as a line.
func (c *exportCommand) Run(ctx context.Context, p *Program) error {
	cfg, err := ReadConfig()
	if err != nil {
		return err
	}
	desk, done, err := p.desk(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()
	if c.Output == "" {
		return exportAudit(ctx, p.Stdout, desk)
	}
	return writeNew(c.Output, func(f *os.File) error { return exportAudit(ctx, f, desk) })
}

func exportAudit(ctx context.Context, w io.Writer, desk control.Desk) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := desk.ExportAudit(ctx, func(entry *approvals.AuditEntry) error { return e.Encode(entry) }); err != nil {
		return err
	}
	return b.Flush()
}
