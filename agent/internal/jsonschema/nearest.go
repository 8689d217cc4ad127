package jsonschema

import (
	"iter"
	"strings"
)

// nearest returns the name that differs from the misspelled one in the fewest letters, or "" when none is close.
func nearest(misspelled string, names iter.Seq[string]) string {
	best, found := 1+len(misspelled)/3, ""
	for name := range names {
		d := distance(strings.ToLower(misspelled), strings.ToLower(name))
		if d < best || d == best && (found == "" || name < found) {
			best, found = d, name
		}
	}
	return found
}

// distance is that of Levenshtein, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			if a[i] != b[j] {
				diagonal++
			}
			diagonal, row[j+1] = above, min(diagonal, above+1, row[j]+1)
		}
	}
	return row[len(b)]
}
