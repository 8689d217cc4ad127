package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/store/storetest"
)

// TestAuditExportSelects by time, half open, and by workspace, in both formats.
func TestAuditExportSelects(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, ws := range []approvals.WorkspaceID{"T1", "T2"} {
		err := st.Update(t.Context(), func(tx approvals.Tx) error {
			for i := range 4 {
				err := tx.AppendAudit(&approvals.AuditEntry{
					Workspace: ws, ID: approvals.AuditID("aud_" + string(rune('0'+i))), Seq: uint64(i + 1),
					At: start.Add(time.Duration(i) * time.Hour), Action: approvals.AuditDecision, Actor: "=cmd",
					Data: json.RawMessage(`{"via":"a,b"}`),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(h int) time.Time { return start.Add(time.Duration(h) * time.Hour) }
	for name, c := range map[string]struct {
		command exportCommand
		want    []string
	}{
		"all":       {exportCommand{}, []string{"T1 1", "T1 2", "T1 3", "T1 4", "T2 1", "T2 2", "T2 3", "T2 4"}},
		"workspace": {exportCommand{Workspace: "T2"}, []string{"T2 1", "T2 2", "T2 3", "T2 4"}},
		"from":      {exportCommand{Workspace: "T1", Since: at(2)}, []string{"T1 3", "T1 4"}},
		"to":        {exportCommand{Workspace: "T1", Until: at(2)}, []string{"T1 1", "T1 2"}},
		"nothing":   {exportCommand{Since: at(2), Until: at(2)}, nil},
	} {
		for _, format := range []string{formatJSONL, formatCSV} {
			c.command.Format = format
			var out strings.Builder
			if err := c.command.export(t.Context(), &control.Local{Store: st}, &out, terminal()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, exportedEntries(t, format, out.String())); diff != "" {
				t.Errorf("%s as %s (-want +have):\n%s", name, format, diff)
			}
		}
	}
}

// TestAuditExportOfNoWorkspace: a workspace that the store does not know is no empty trail.
func TestAuditExportOfNoWorkspace(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	for _, format := range []string{formatJSONL, formatCSV} {
		var out strings.Builder
		c := exportCommand{Workspace: "T0TYPO", Format: format}
		err := c.export(t.Context(), &control.Local{Store: st}, &out, terminal())
		if !errors.Is(err, approvals.ErrNotFound) || !strings.Contains(err.Error(), `"T0TYPO"`) || out.Len() > 0 {
			t.Errorf("%s: %v, %q", format, err, out.String())
		}
	}
}

// exportedEntries are the workspace and the number of each exported entry.
func exportedEntries(t *testing.T, format, out string) (all []string) {
	t.Helper()
	if format == formatCSV {
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, row := range rows[1:] {
			if row[4] != "'=cmd" || row[7] != `{"via":"a,b"}` {
				t.Errorf("cells %q", row)
			}
			all = append(all, row[0]+" "+row[1])
		}
		return all
	}
	for line := range strings.Lines(out) {
		var e struct {
			Workspace string
			Seq       json.Number
			Actor     string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Actor != "=cmd" {
			t.Fatalf("%v\n%s", err, line)
		}
		all = append(all, e.Workspace+" "+e.Seq.String())
	}
	return all
}

// TestGuardedCells are no formulas.
func TestGuardedCells(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"} {
		if got := guarded(cell); got != "'"+cell {
			t.Errorf("%q is written %q", cell, got)
		}
	}
	for _, cell := range []string{"", "a=1", "1", "{}", "'x"} {
		if got := guarded(cell); got != cell {
			t.Errorf("%q is written %q", cell, got)
		}
	}
}
