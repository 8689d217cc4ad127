package bot

import "strings"

// nearest returns the valid word that differs from the typed one in the fewest letters, or "" when none is close.
func nearest(typed string, valid []string) string {
	typed = strings.ToLower(typed)
	best, found := 1+len(typed)/3, ""
	for _, word := range valid {
		if d := lettersApart(typed, word); d < best || d == best && found == "" {
			best, found = d, word
		}
	}
	return found
}

// lettersApart is that of Levenshtein, in bytes.
func lettersApart(a, b string) int {
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
