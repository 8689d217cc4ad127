package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/control"
)

type exportCommand struct {
	Output string
	JSON   bool // it always is
}

// command is the command line's view of it.
func (c *exportCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the audit trail as one JSON object per line",
		Long: "Write the audit trail as one JSON object per line. " +
			"Entries hold digests and verdicts, never arguments.",
		Example: "  countersign audit export -o audit.jsonl",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&c.Output, "output", "o", "", "write to this new `FILE` instead of the standard output")
	f.BoolVar(&c.JSON, "json", false, "the export is always JSON")
	f.Lookup("json").Hidden = true
	return cmd
}

// Run writes every entry as a line.
func (c *exportCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	if c.Output == "" {
		return exportAudit(ctx, desk, p.Stdout, newEncoder)
	}
	return writeNew(c.Output, func(f *os.File) error { return exportAudit(ctx, desk, f, json.NewEncoder) })
}

// exportAudit writes to w. A file has the entries byte for byte as they are chained, a terminal what is safe there.
func exportAudit(ctx context.Context, desk control.Desk, w io.Writer, encoder func(io.Writer) *json.Encoder) error {
	b := bufio.NewWriter(w)
	e := encoder(b)
	e.SetEscapeHTML(false)
	if err := desk.ExportAudit(ctx, func(entry *approvals.AuditEntry) error { return e.Encode(entry) }); err != nil {
		return err
	}
	return b.Flush()
}
