package patchtool

import "strings"

// split takes a file apart into lines and what stands between them: CR LF where every line ends so, else LF, and then a
// CR is a part of its line. The last line is empty where the file ends with a line end. Joined again, the lines are the
// file byte for byte.
func split(data string) (lines []string, end string) {
	end = "\n"
	if n := strings.Count(data, "\n"); n > 0 && n == strings.Count(data, "\r\n") {
		end = "\r\n"
	}
	return strings.Split(data, end), end
}

// piece is a change of lines that stand together: at a place, so many go and these come.
type piece struct {
	at, removed int
	added       []string
}

// pieces are the changes of a hunk whose lines begin at a place of the file.
func (h *hunk) pieces(at int) (all []piece) {
	open := false // the last of all goes on
	for _, c := range h.lines {
		if c.kind == ' ' {
			at, open = at+1, false
			continue
		}
		if !open {
			all, open = append(all, piece{at: at}), true
		}
		last := &all[len(all)-1]
		if c.kind == '-' {
			at++
			last.removed++
		} else {
			last.added = append(last.added, c.text)
		}
	}
	return all
}
