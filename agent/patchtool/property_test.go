package patchtool

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// diff writes the hunks that make b of a, with so many lines of context; fewer than none means all of them in one hunk.
func diff(a, b []string, around int) string {
	type op struct {
		kind byte
		text string
	}
	longest := make([][]int, len(a)+1) // longest[i][j]: length of the longest common subsequence of a[i:] and b[j:]
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var ops []op
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			ops = append(ops, op{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			ops = append(ops, op{'-', a[i]})
			i++
		default:
			ops = append(ops, op{'+', b[j]})
			j++
		}
	}
	near := make([]bool, len(ops))
	for i, o := range ops {
		for j := range ops {
			if around < 0 || o.kind != ' ' && j >= i-around && j <= i+around {
				near[j] = true
			}
		}
	}
	var w strings.Builder
	for i, o := range ops {
		if near[i] && (i == 0 || !near[i-1]) {
			w.WriteString("@@\n")
		}
		if near[i] {
			fmt.Fprintf(&w, "%c%s\n", o.kind, o.text)
		}
	}
	return w.String()
}

// TestDiffGivesSecond makes a patch of two random files: applied to the first it gives the second. With little context
// it may be refused, but never gives anything else.
func TestDiffGivesSecond(t *testing.T) {
	t.Parallel()
	applied := 0
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[ab@*+ -]{0,3}`), 0, 12)
		a, b := lines.Draw(t, "a"), lines.Draw(t, "b")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		around := rapid.IntRange(-1, 3).Draw(t, "context")
		file := func(lines []string) string {
			if len(lines) == 0 {
				return ""
			}
			return strings.Join(lines, end) + end
		}
		want := file(b)
		if len(a) == 0 {
			want = strings.ReplaceAll(want, "\r", "") // an empty file has no line end to go by
		}
		s := section{op: Update, path: "f"}
		if err := parseDiff(&s, diff(a, b, around)); err != nil {
			if strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b) {
				return // nothing to change
			}
			t.Fatalf("%v in\n%s", err, diff(a, b, around))
		}
		got, err := s.update(context.Background(), file(a))
		switch {
		case err != nil && around < 0:
			t.Fatalf("%v in\n%s", err, diff(a, b, around))
		case err != nil: // the context is in several places
		case got != want:
			t.Fatalf("got %q, want %q, by\n%s", got, want, diff(a, b, around))
		default:
			applied++
		}
	})
	if applied < 20 {
		t.Errorf("only %d applied: the generator proves little", applied)
	}
}

// TestFind holds the search against the plain one.
func TestFind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "a ", " a"})
		file := rapid.SliceOfN(word, 0, 20).Draw(t, "file")
		want := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a ", "c"}), 1, 4).Draw(t, "want")
		from := rapid.IntRange(0, 21).Draw(t, "from")
		for _, l := range []likeness{exact, trimmed, bare} {
			var plain []int
			for i := from; i+len(want) <= len(file) && len(plain) < 2; i++ {
				all := true
				for j := range want {
					all = all && l.of(file[i+j]) == l.of(want[j])
				}
				if all {
					plain = append(plain, i)
				}
			}
			if found, _ := newIndex(file).find(want, from, l); fmt.Sprint(found) != fmt.Sprint(plain) {
				t.Fatalf("likeness %d: found %v, want %v", l, found, plain)
			}
		}
	})
}

// TestSplitJoin makes sure that taking files apart loses nothing.
func TestSplitJoin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringMatching(`[a\r\n]{0,12}`).Draw(t, "data")
		lines, end := split(data)
		if got := strings.Join(lines, end); got != data {
			t.Fatalf("%q became %q", data, got)
		}
	})
}

// FuzzParse looks for patches that make the parser panic, or that mean something else when written down again.
func FuzzParse(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ x\n@@ y\n a\n-b\n+c\n\n@@\n-z\n*** End of File\n" +
		"*** Add File: n\n+x\n*** Delete File: d\n*** End Patch\n")
	f.Add("*** Begin Patch\r\n*** Update File: a\r\n-a\r\n+b\r\n*** End Patch\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := parse(text)
		if err != nil {
			return
		}
		written := write(sections)
		again, err := parse(written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if got := write(again); got != written {
			t.Errorf("%q\nbecame\n%q", written, got)
		}
	})
}

// write writes sections as a patch.
func write(sections []section) string {
	var w strings.Builder
	w.WriteString("*** Begin Patch\n")
	for _, s := range sections {
		switch s.op {
		case Add:
			fmt.Fprintf(&w, "%s %s\n", markAdd, s.path)
			for line := range strings.Lines(s.text) {
				w.WriteString("+" + line)
			}
		case Delete:
			fmt.Fprintf(&w, "%s %s\n", markDelete, s.path)
		case Move:
			fmt.Fprintf(&w, "%s %s\n%s %s\n", markUpdate, s.path, markMove, s.to)
		case Update:
			fmt.Fprintf(&w, "%s %s\n", markUpdate, s.path)
		}
		for _, h := range s.hunks {
			w.WriteString("@@\n")
			for _, heading := range h.headings {
				w.WriteString("@@ " + heading + "\n")
			}
			for _, c := range h.lines {
				fmt.Fprintf(&w, "%c%s\n", c.kind, c.text)
			}
			if h.end {
				w.WriteString(markEOF + "\n")
			}
		}
	}
	w.WriteString(markEnd + "\n")
	return strings.ReplaceAll(w.String(), "\r\n", "\r\r\r\n") // of carriage returns at the end two are taken off
}
