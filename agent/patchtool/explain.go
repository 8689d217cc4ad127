package patchtool

import (
	"encoding/json"
	"fmt"
)

// FileChange is what a patch does to one file.
type FileChange struct {
	Operation Operation `json:"operation"`
	Path      string    `json:"path"`
	To        string    `json:"to,omitempty"` // of Move
	// Added and Removed count lines of the patch; how many lines a deleted file had is not in it.
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// String writes the change in a line.
func (c FileChange) String() string {
	switch c.Operation {
	case Add:
		return fmt.Sprintf("added %s (+%d)", c.Path, c.Added)
	case Delete:
		return "deleted " + c.Path
	case Move:
		return fmt.Sprintf("moved %s to %s (+%d -%d)", c.Path, c.To, c.Added, c.Removed)
	}
	return fmt.Sprintf("updated %s (+%d -%d)", c.Path, c.Added, c.Removed)
}

// Explain lists what the arguments of a call, in either form, do to which files, in the order of the patch. It looks at
// no file. Its error says why they are no patch; it may be a [*SyntaxError].
func Explain(arguments json.RawMessage) ([]FileChange, error) {
	sections, _, _, err := read(arguments)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	return explain(sections), nil
}

func explain(sections []section) []FileChange {
	changes := make([]FileChange, len(sections))
	for i, s := range sections {
		c := FileChange{Operation: s.op, Path: s.path, To: s.to, Added: s.added}
		for _, h := range s.hunks {
			for _, l := range h.lines {
				switch l.kind {
				case '+':
					c.Added++
				case '-':
					c.Removed++
				}
			}
		}
		changes[i] = c
	}
	return changes
}
