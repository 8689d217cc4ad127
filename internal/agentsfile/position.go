package agentsfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in the file. Line and Column count from 1; zero means the file as a whole.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing to mend in the file. Its text never holds a value of the environment.
type Problem struct {
	Position
	Message string
}

func (p *Problem) Error() string { return p.Position.String() + ": " + p.Message }

// Problems are all problems of a file in its order. It is never empty.
type Problems []*Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// sorted brings the problems into the order of the file.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}
