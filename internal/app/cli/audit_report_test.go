package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/control"
	approvalreport "countersign/internal/report"
)

// reportDesk is a desk with a report of its own.
type reportDesk struct {
	control.Desk
	asked control.ReportQuery
	err   error
}

func (d *reportDesk) Report(_ context.Context, q control.ReportQuery, progress func(int)) (
	*approvalreport.Report, error,
) {
	progress(10_000)
	if d.asked = q; d.err != nil {
		return nil, d.err
	}
	return approvalreport.New(q.Window).Report(), nil
}

// newReport reads the command line.
func newReport(t *testing.T, args ...string) (*reportCommand, error) {
	t.Helper()
	c := new(reportCommand)
	p, _, _ := capture()
	cmd := c.command(&commandLine{program: &p})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return c, cmd.ParseFlags(args)
}

// TestReportWindow reads what the flags say, and refuses what says nothing or two things.
func TestReportWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)
	for args, want := range map[string]string{
		"--month 2026-10":                                      "2026-10-01 to 2026-10-31 (UTC)",
		"--from 2026-03-01 --to 2026-03-08":                    "2026-03-01 to 2026-03-07 (UTC)",
		"--from 2026-03-01T02:00:00+02:00 --to 2026-03-02":     "2026-03-01 to 2026-03-01 (UTC)",
		"--from 2026-03-30":                                    "from 2026-03-30 00:00:00, before 2026-03-31 15:00:00",
		"":                                                     "is needed, for instance --month 2026-02",
		"--to 2026-03-08":                                      "is needed",
		"--month 2026-10 --from 7d":                            "do not go with it",
		"--month 2026-10 --to 2026-03-08":                      "do not go with it",
		"--from 2026-03-08 --to 2026-03-08":                    "is not before",
		"--from 2026-03-08T00:00:00Z --to 2026-03-01":          "is not before",
		"--from 2026-04-01":                                    "is not before",
		"--month october":                                      "no month such as 2026-10",
		"--from yesterday":                                     "a date and time as in RFC 3339",
		"--from 2026-03-01 --to 2026-02-30":                    "a date and time as in RFC 3339",
		"--from 2026-03-01 --to 2026-03-08T12:00:00.5Z --json": "unknown flag",
	} {
		c, err := newReport(t, strings.Fields(args)...)
		var have string
		if err == nil {
			var w approvalreport.Window
			if w, err = c.window(now); err == nil {
				have = w.String()
			} else if !errors.Is(err, app.ErrConfig) {
				t.Errorf("%q: %v is no misuse", args, err)
			}
		}
		if err != nil {
			have = err.Error()
		}
		if !strings.Contains(have, want) {
			t.Errorf("%q: %s, want %s", args, have, want)
		}
	}
}

// TestReportFormats prints in the format that is asked for, or that the file's name ends with.
func TestReportFormats(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                              "APPROVAL REPORT",
		"--format text":                 "APPROVAL REPORT",
		"--format html":                 "<!DOCTYPE html>",
		"--format json":                 `{"window":{"from":"2026-10-01T00:00:00Z"`,
		"--output o.html":               "<!DOCTYPE html>",
		"--output o.HTML":               "<!DOCTYPE html>",
		"--output o.json":               `{"window":`,
		"--output o.txt":                "APPROVAL REPORT",
		"--output o.html --format text": "APPROVAL REPORT",
	} {
		c, err := newReport(t, append([]string{"--month", "2026-10", "--workspace", "T1"}, strings.Fields(args)...)...)
		if err != nil {
			t.Fatal(err)
		}
		if c.Output != "" {
			c.Output = filepath.Join(t.TempDir(), c.Output)
		}
		p, out, _ := capture()
		desk := new(reportDesk)
		if err := c.report(t.Context(), &p, desk); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		have := out.String()
		if c.Output != "" {
			b, err := os.ReadFile(c.Output)
			if err != nil || out.Len() > 0 {
				t.Errorf("%q: %v, and on the standard output %q", args, err, out)
			}
			have = string(b)
			if err := c.report(t.Context(), &p, desk); !errors.Is(err, app.ErrConfig) {
				t.Errorf("%q replaces a file: %v", args, err)
			}
		}
		if !strings.HasPrefix(have, want) || !strings.Contains(have, app.BuildVersion().Version) {
			t.Errorf("%q: %.200s", args, have)
		}
		if desk.asked.Workspace != "T1" || desk.asked.Window.String() != "2026-10-01 to 2026-10-31 (UTC)" {
			t.Errorf("%q: asked for %+v", args, desk.asked)
		}
	}
	c, err := newReport(t, "--month", "2026-10", "--format", "pdf")
	if err != nil {
		t.Fatal(err)
	}
	p, out, _ := capture()
	if err := c.report(t.Context(), &p, new(reportDesk)); !errors.Is(err, app.ErrConfig) || out.Len() > 0 {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestReportThatFails leaves no file behind.
func TestReportThatFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c, err := newReport(t, "--month", "2026-10", "-o", filepath.Join(folder, "o.html"))
	if err != nil {
		t.Fatal(err)
	}
	p, _, _ := capture()
	err = c.report(t.Context(), &p, &reportDesk{err: approvals.ErrNotFound})
	if left, _ := os.ReadDir(folder); !errors.Is(err, approvals.ErrNotFound) || len(left) > 0 {
		t.Errorf("%v, and it leaves %v", err, left)
	}
}

// TestReportProgress speaks after a while, and then every now and then.
func TestReportProgress(t *testing.T) {
	t.Parallel()
	p, out, complaints := capture()
	now := asked
	tell := p.progress(func() time.Time { return now })
	for i := range 6 {
		now = now.Add(quiet / 2)
		tell(10_000 * (i + 1))
	}
	want := "countersign: 20000 records read\ncountersign: 40000 records read\ncountersign: 60000 records read\n"
	if complaints.String() != want || out.Len() > 0 {
		t.Errorf("%s, want %s", complaints, want)
	}
}

// TestReportOnTerminalIsNotTricked when it is JSON.
func TestReportOnTerminalIsNotTricked(t *testing.T) {
	t.Parallel()
	at := asked
	r := newRequest("req_1", func(r *approvals.Request) { r.Tool.Name, r.Created = "a\u202e\x1b[2Jb", at })
	c, err := newReport(t, "--from", "2026-11-02", "--to", "2026-11-03", "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	p, out, _ := capture()
	if err := c.report(t.Context(), &p, newDesk(t, r)); err != nil {
		t.Fatal(err)
	}
	if char, ok := obeyed(out.String()); ok {
		t.Errorf("%U is printed as it is", char)
	}
	var got approvalreport.Report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Tools) != 1 ||
		got.Tools[0].Name != r.Tool.Name {
		t.Errorf("%v, %+v", err, got.Tools)
	}
}
