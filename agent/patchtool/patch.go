package patchtool

import "fmt"

// Operation says what a patch does with a file.
type Operation string

// The operations. A moved file may be changed on the way.
const (
	Add    Operation = "add"
	Update Operation = "update"
	Move   Operation = "move"
	Delete Operation = "delete"
)

// section is what a patch says about one file.
type section struct {
	op    Operation
	path  string
	to    string // of a move
	line  int    // of its header
	text  string // of an added file
	added int    // its lines
	hunks []hunk
}

// hunk is one place of an updated file.
type hunk struct {
	line     int      // of the patch where it begins
	headings []string // lines of the file above it
	marks    int      // how many lines with @@ it begins with
	lines    []change
	end      bool // it is at the end of the file
}

// change is a line of a hunk. The kind is ' ', '-' or '+'.
type change struct {
	kind  byte
	text  string
	blank bool // an empty line of the patch, taken as an empty line of context
}

// old is what the hunk replaces, context included.
func (h *hunk) old() []string {
	old := make([]string, 0, len(h.lines))
	for _, l := range h.lines {
		if l.kind != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// withoutBlanks is the hunk without the empty lines at its end, which are often meant to set it off, and whether it has
// any.
func (h *hunk) withoutBlanks() (*hunk, bool) {
	n := len(h.lines)
	for n > 0 && h.lines[n-1].blank {
		n--
	}
	short := *h
	short.lines = h.lines[:n]
	return &short, n < len(h.lines)
}

// SyntaxError says where a patch is not one.
type SyntaxError struct {
	Line   int // of the patch, from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Reason)
}
