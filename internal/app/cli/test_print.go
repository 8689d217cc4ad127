package cli

import (
	"fmt"
	"io"
	"strings"

	"countersign/internal/testrun"
	"countersign/internal/visible"
)

// print writes how a test ended, and what happened in it where somebody will want to know.
func (c *testCommand) print(w io.Writer, r *testrun.Result) error {
	var b strings.Builder
	word := "ok  "
	if !r.Passed() {
		word = "FAIL"
	}
	fmt.Fprintf(&b, "%s  %s: %s (%.1f s)\n", word, visible.Line(r.File), visible.Line(r.Name), r.Took.Seconds())
	for _, f := range r.Failures {
		printFailure(&b, &f)
	}
	if c.Verbose || !r.Passed() {
		indent(&b, "      ", r.Transcript)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printFailure(b *strings.Builder, f *testrun.Failure) {
	where := f.What
	if f.Step != "" {
		where = f.Step + ": " + where
	}
	if f.At.Line > 0 {
		where = f.At.String() + ": " + where
	}
	indent(b, "  ", where)
	labelled(b, "expected: ", f.Expected)
	labelled(b, "got:      ", f.Got)
	if f.Waited > 0 {
		fmt.Fprintf(b, "    waited %.1f s (--timeout)\n", f.Waited.Seconds())
	}
}

// labelled writes a text whose further lines stand below its beginning.
func labelled(b *strings.Builder, label, text string) {
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		indent(b, "    "+label, line)
	}
}

// indent writes the lines of a text behind a margin. They quote what others wrote.
func indent(b *strings.Builder, margin, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		kept := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintf(b, "%s%s%s\n", margin, kept, visible.Line(strings.TrimLeft(line, " ")))
	}
}
