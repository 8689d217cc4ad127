package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/control"
	approvalreport "countersign/internal/report"
)

// reportFormats are the words of --format.
var reportFormats = []string{"text", "json", "html"}

type reportCommand struct {
	from, to  time.Time
	month     approvalreport.Window
	Format    string
	Output    string
	Workspace string
}

// command is the command line's view of it.
func (c *reportCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report (--month MONTH | --from TIME [--to TIME])",
		Short: "Count what was asked, decided and done in a window of time",
		Long: `Count what was asked, decided and done in a window of time: requests by status and outcome,
approval rate, time to decision, per tool, agent, policy and approver, and signs that people approve without
looking. docs/report.md says what each figure means.

The window is half open and in UTC: what happened at --from is in it, what happened at --to is not. A TIME is a day such
as 2026-10-01, which is its midnight, a date and time as in RFC 3339, or how long ago: 24h, 7d. People are named by
their Slack ids.

The HTML page stands by itself and can be printed. Nothing is verified: "audit verify --head" with the head that the
report names does that.`,
		Example: `  countersign audit report --month 2026-10
  countersign audit report --month 2026-10 -o october.html
  countersign audit report --from 2026-10-01 --to 2026-11-01 --format json | jq .decided.approval_rate
  countersign audit report --from 7d`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Func("month", "the `MONTH` of UTC, such as 2026-10", func(word string) (err error) {
		c.month, err = approvalreport.Month(word)
		return err
	})
	f.Func("from", "from this `TIME` on", dayOrInstant(&c.from))
	f.Func("to", "before this `TIME` (default now)", dayOrInstant(&c.to))
	f.StringVar(&c.Format, "format", "", "`FORMAT`: "+strings.Join(reportFormats, ", ")+
		" (default what FILE ends with, else text)")
	f.StringVarP(&c.Output, "output", "o", "", "write to this new `FILE` instead of the standard output")
	f.StringVar(&c.Workspace, "workspace", "", "count only the records of this workspace `ID`")
	return cmd
}

// dayOrInstant returns the setter of a flag that takes a day of UTC too.
func dayOrInstant(t *time.Time) func(string) error {
	other := instant(t)
	return func(value string) error {
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			*t = day
			return nil
		}
		return other(value)
	}
}

// Run makes the report and prints it.
func (c *reportCommand) Run(ctx context.Context, p *Program) error {
	if err := c.check(); err != nil {
		return err
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.report(ctx, p, desk)
}

// check refuses what says nothing, before the store is opened.
func (c *reportCommand) check() error {
	_, err := c.window(time.Now())
	if err == nil {
		_, err = c.printer()
	}
	return err
}

func (c *reportCommand) report(ctx context.Context, p *Program, desk control.Desk) error {
	w, err := c.window(time.Now())
	if err != nil {
		return err
	}
	print, err := c.printer()
	if err != nil {
		return err
	}
	q := control.ReportQuery{Window: w, Workspace: approvals.WorkspaceID(c.Workspace)}
	r, err := desk.Report(ctx, q, p.progress(time.Now))
	if err != nil {
		return err
	}
	r.Version = app.BuildVersion().String()
	if c.Output == "" {
		return print(r, p.Stdout, newEncoder)
	}
	return writeNew(c.Output, func(f *os.File) error { return print(r, f, json.NewEncoder) })
}

// window is what the flags say.
func (c *reportCommand) window(now time.Time) (approvalreport.Window, error) {
	month := c.month != approvalreport.Window{}
	switch {
	case month && (!c.from.IsZero() || !c.to.IsZero()):
		return approvalreport.Window{}, misused("--month is a window by itself; --from and --to do not go with it")
	case month:
		return c.month, nil
	case c.from.IsZero():
		return approvalreport.Window{}, misused("--month or --from is needed, for instance --month %s",
			now.UTC().AddDate(0, -1, 1-now.UTC().Day()).Format("2006-01"))
	}
	to := c.to
	if to.IsZero() {
		to = now
	}
	w, err := approvalreport.NewWindow(c.from, to)
	if err != nil {
		return approvalreport.Window{}, misused("--from (%s) is not before --to (%s): nothing can be between",
			c.from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	}
	return w, nil
}

// encoding makes the encoder for what is printed: newEncoder for a terminal, json.NewEncoder for a file.
type encoding func(io.Writer) *json.Encoder

// printReport prints a report in some format.
type printReport func(r *approvalreport.Report, w io.Writer, encoder encoding) error

// printer is what the flags say.
func (c *reportCommand) printer() (printReport, error) {
	format := c.Format
	if end := strings.TrimPrefix(strings.ToLower(filepath.Ext(c.Output)), "."); format == "" &&
		slices.Contains(reportFormats, end) {
		format = end
	}
	switch format {
	case "", "text":
		return func(r *approvalreport.Report, w io.Writer, _ encoding) error { return r.Text(w) }, nil
	case "html":
		return func(r *approvalreport.Report, w io.Writer, _ encoding) error { return r.HTML(w) }, nil
	case "json":
		return func(r *approvalreport.Report, w io.Writer, encoder encoding) error {
			e := encoder(w)
			e.SetEscapeHTML(false)
			return e.Encode(r)
		}, nil
	}
	return nil, misused("there is no format %q; it is one of %s", format, strings.Join(reportFormats, ", "))
}

// quiet is for how long a command that reads much says nothing.
const quiet = 2 * time.Second

// progress returns what says how far a report is, every now and then.
func (p *Program) progress(now func() time.Time) func(read int) {
	last := now()
	return func(read int) {
		if at := now(); at.Sub(last) >= quiet {
			last = at
			fmt.Fprintf(p.Stderr, "countersign: %d records read\n", read)
		}
	}
}
