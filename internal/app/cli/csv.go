package cli

import (
	"encoding/csv"
	"io"
	"strings"
	"time"
)

// csvWriter writes rows for spreadsheets. A cell that a spreadsheet would take for a formula gets an apostrophe before
// it: what people and models have written is in these cells.
type csvWriter struct {
	*csv.Writer
	shown func(string) string // how a cell is made fit for where it is written to
}

// newCSV returns a writer that has written the names of the columns.
func newCSV(w io.Writer, shown func(string) string, names ...string) (*csvWriter, error) {
	c := &csvWriter{csv.NewWriter(w), shown}
	return c, c.row(names...)
}

func (c *csvWriter) row(cells ...string) error {
	for i, cell := range cells {
		cells[i] = guarded(c.shown(cell))
	}
	return c.Write(cells)
}

// end writes out what is left.
func (c *csvWriter) end() error {
	c.Flush()
	return c.Error()
}

// guarded is a cell that no spreadsheet takes for a formula.
func guarded(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// csvInstant is an instant in a cell; empty for none.
func csvInstant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// The formats of exports.
const (
	formatJSONL = "jsonl"
	formatCSV   = "csv"
)

// exportFormat returns the setter of the flag --format.
func exportFormat(format *string) func(string) error {
	return func(value string) error {
		if value != formatJSONL && value != formatCSV {
			return misused("%q is none of %s, %s", value, formatJSONL, formatCSV)
		}
		*format = value
		return nil
	}
}

// exportTimes is what the help of all exports ends with.
const exportTimes = `A TIME is a date and time as in RFC 3339, such as 2026-11-02T15:04:05Z, or how long ago: 90m, 24h,
7d. In CSV a cell that begins with = + - @, a tab or a carriage return has an apostrophe before it, so that no
spreadsheet takes it for a formula.`

// asIs shows text as it is: in a file.
func asIs(text string) string { return text }
