package patchtool

import (
	"slices"
	"strings"
	"unicode"
)

// likeness says which lines count as the same.
type likeness int

const (
	exact   likeness = iota
	trimmed          // but for white space at the end
	bare             // but for white space at both ends
	likenesses
)

func (l likeness) of(text string) string {
	switch l {
	case trimmed:
		return strings.TrimRightFunc(text, blank)
	case bare:
		return strings.TrimFunc(text, blank)
	}
	return text
}

// blank reports white space, in the sense of the provider's own editor, which is JavaScript's.
func blank(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\uFEFF' }

// index finds lines in a file. Lines are numbered, the same ones alike, so that comparing two costs the same for all.
type index struct {
	lines   []string
	numbers [likenesses]map[string]int
	file    [likenesses][]int // the numbers of the lines; nil until it is asked for
	first   [likenesses][]int // for each number, the first line that has it
}

func newIndex(lines []string) *index { return &index{lines: lines} }

// empty reports whether there is nothing in the file.
func (x *index) empty() bool { return len(x.lines) == 1 && x.lines[0] == "" }

// end is where lines go that come to the end of the file: before the empty one that a final line end leaves.
func (x *index) end() int {
	if n := len(x.lines); n > 1 && x.lines[n-1] == "" {
		return n - 1
	}
	return len(x.lines)
}

// matches reports whether the lines of want are in the file at a place.
func (x *index) matches(want []string, at int, l likeness) bool {
	return at >= 0 && at+len(want) <= len(x.lines) &&
		slices.EqualFunc(x.lines[at:at+len(want)], want, func(a, b string) bool { return l.of(a) == l.of(b) })
}

// before reports whether there is such a line before a place.
func (x *index) before(text string, at int, l likeness) bool {
	x.number(l)
	n, ok := x.numbers[l][l.of(text)]
	return ok && x.first[l][n] < at
}

func (x *index) number(l likeness) {
	if x.numbers[l] != nil {
		return
	}
	x.numbers[l] = make(map[string]int)
	x.file[l] = make([]int, len(x.lines))
	for i, text := range x.lines {
		text = l.of(text)
		n, ok := x.numbers[l][text]
		if !ok {
			n = len(x.numbers[l])
			x.numbers[l][text] = n
			x.first[l] = append(x.first[l], i)
		}
		x.file[l][i] = n
	}
}

// find returns the first two places at or after from where the lines of want are, and how near it came elsewhere. It is
// the search of Knuth, Morris and Pratt: its time grows with the sum of both lengths.
func (x *index) find(want []string, from int, l likeness) (found []int, nearest miss) {
	x.number(l)
	wanted := make([]int, len(want))
	unknown := make(map[string]int) // lines that the file does not have get negative numbers
	for i, text := range want {
		text = l.of(text)
		n, ok := x.numbers[l][text]
		if !ok {
			if n, ok = unknown[text]; !ok {
				n = -1 - len(unknown)
				unknown[text] = n
			}
		}
		wanted[i] = n
	}
	return search(x.file[l], wanted, from)
}

func search(file, want []int, from int) (found []int, nearest miss) {
	// fallback says, for each number of matched lines, how many of them still match one further on.
	fallback := make([]int, len(want)+1)
	for i, k := 1, 0; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = fallback[k]
		}
		if want[i] == want[k] {
			k++
		}
		fallback[i+1] = k
	}
	matched := 0
	for i := from; i < len(file); i++ {
		for matched > 0 && file[i] != want[matched] {
			matched = fallback[matched]
		}
		if file[i] == want[matched] {
			matched++
		}
		if matched == len(want) {
			if found = append(found, i+1-matched); len(found) == 2 {
				return found, nearest
			}
			matched = fallback[matched]
		} else if matched > nearest.matched {
			nearest = miss{matched, i + 1}
		}
	}
	return found, nearest
}
