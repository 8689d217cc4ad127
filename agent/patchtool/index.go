package patchtool

import "strings"

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
		return strings.TrimRight(text, " \t\r\f\v")
	case bare:
		return strings.TrimSpace(text)
	}
	return text
}

// index finds lines in a file. Lines are numbered, the same ones alike, so that comparing two costs the same for all.
type index struct {
	lines   []string
	numbers [likenesses]map[string]int
	file    [likenesses][]int // the numbers of the lines; nil until it is asked for
}

func newIndex(lines []string) *index { return &index{lines: lines} }

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
	fallback := make([]int, len(want)+1) // for each number of matched lines, how many of them still match one further on
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
