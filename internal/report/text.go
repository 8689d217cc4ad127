package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"countersign/internal/visible"
)

// Text prints the report for a terminal: what people, models and servers wrote has no effect there.
func (r *Report) Text(w io.Writer) error {
	b := bufio.NewWriter(w) // keeps its first error for Flush
	fmt.Fprint(b, "APPROVAL REPORT\n\n")
	pairs(b, r.origin())
	for _, note := range r.notes() {
		fmt.Fprintf(b, "\nNote: %s\n", visible.Line(note))
	}
	fmt.Fprintln(b)
	pairs(b, r.figures())
	for _, s := range r.sections() {
		fmt.Fprintf(b, "\n%s\n", strings.ToUpper(s.title))
		wrap(b, s.about, "")
		for i := range s.tables {
			if i > 0 || s.about != "" {
				fmt.Fprintln(b)
			}
			s.tables[i].text(b)
		}
	}
	fmt.Fprintf(b, "\nDEFINITIONS\n")
	for _, d := range definitions() {
		wrap(b, d.word+": "+d.means, "  ")
	}
	return b.Flush()
}

// pair is a word and its value.
type pair struct{ word, value string }

// origin says what the report is about and where it is from.
func (r *Report) origin() []pair {
	return []pair{
		{"Workspace", r.where()},
		{"Window", r.Window.String()},
		{"Generated", shortTime(r.Generated) + " UTC, by countersign " + r.Version},
	}
}

// figures are the report in a few numbers.
func (r *Report) figures() []pair {
	decided := r.Decided.Approved + r.Decided.Rejected
	return []pair{
		{"Asked", number(r.Asked.Requests)},
		{"Of high risk", part(r.Asked.HighRisk, r.Asked.Requests)},
		{"Decided by people", number(decided)},
		{"Approval rate", percent(r.Decided.Rate)},
		{"Median time", span(r.Decided.Median)},
		{"p95 time", span(r.Decided.P95)},
		{"Expired", number(r.Settled.Status.Expired)},
		{"Waiting at the end", number(r.Pending.Requests)},
		{"Oldest waiting", span(r.Pending.Oldest)},
		{"Answers under 5 s", part(r.Answers.Fast, r.Answers.Given)},
		{"Broke the glass", number(r.Emergencies.Count)},
		{"Ran under grants", number(r.Calls.Grant)},
	}
}

func pairs(w io.Writer, all []pair) {
	for _, p := range all {
		fmt.Fprintf(w, "  %-20s %s\n", p.word, visible.Line(p.value))
	}
}

// textWidth is how long a line of prose is.
const textWidth = 100

// wrap prints prose in lines, all but the first indented further.
func wrap(w io.Writer, text, indent string) {
	line := ""
	for word := range strings.FieldsSeq(visible.Line(text)) {
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= textWidth {
			fmt.Fprintln(w, line)
			line = indent
		}
		if strings.TrimSpace(line) != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		fmt.Fprintln(w, line)
	}
}

// text prints the table with its columns below each other.
func (t *table) text(w io.Writer) {
	if t.title != "" {
		fmt.Fprintf(w, "  %s\n", t.title)
	}
	if len(t.rows) == 0 {
		fmt.Fprintf(w, "    %s\n", t.empty)
		return
	}
	all := append([][]string{t.head}, t.rows...)
	if t.total != nil {
		all = append(all, t.total)
	}
	widths := make([]int, len(t.head))
	for i, row := range all {
		shown := make([]string, len(row))
		for j, cell := range row {
			shown[j] = visible.Line(cell)
			widths[j] = max(widths[j], utf8.RuneCountInString(shown[j]))
		}
		all[i] = shown
	}
	for _, row := range all {
		var line strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j < t.texts {
				line.WriteString("  " + cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, "  "+strings.TrimRight(line.String(), " "))
	}
}
