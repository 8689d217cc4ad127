package mcptoolset

import (
	"maps"
	"slices"
)

// Policy says which tools of a server people are asked about. The zero value asks about all but those that change
// nothing of a server that is trusted; so does every policy about tools that it says nothing of.
type Policy struct {
	all           answer
	tools         map[string]answer // as the server spells the names
	always, never filter
}

type answer int8

const (
	unsaid answer = iota
	ask
	allow
)

// filter chooses tools by what the server says about them. Without names and hint it chooses none.
type filter struct {
	names    []string
	readOnly *bool // chooses the tools that have, or do not have, a readOnlyHint
}

func (p Policy) isZero() bool {
	return p.all == unsaid && p.tools == nil && p.always.isZero() && p.never.isZero()
}

func (f filter) isZero() bool { return f.names == nil && f.readOnly == nil }

// believes reports whether the policy lets a server say which of its tools need no approval.
func (p Policy) believes() bool { return p.never.readOnly != nil }

// asks reports whether people are asked about the tool. They are when both filters choose it.
func (p Policy) asks(tool ServerTool) bool {
	switch said := p.tools[tool.Name]; {
	case said != unsaid:
		return said == ask
	case p.all != unsaid:
		return p.all == ask
	case p.always.any(tool):
		return true
	case p.never.every(tool):
		return false
	}
	return !tool.readOnly()
}

// any reports whether one of the filter's conditions chooses the tool. One whose hints contradict each other is chosen
// by either: this filter is for those that ask.
func (f filter) any(tool ServerTool) bool {
	return slices.Contains(f.names, tool.Name) || f.readOnly != nil && !tool.Annotations.fits(!*f.readOnly)
}

// every reports whether all of the filter's conditions, and at least one, choose the tool.
func (f filter) every(tool ServerTool) bool {
	return !f.isZero() && (f.names == nil || slices.Contains(f.names, tool.Name)) &&
		(f.readOnly == nil || tool.Annotations.fits(*f.readOnly))
}

// names lists the tools that the policy names.
func (p Policy) names() []string {
	return slices.Concat(slices.Sorted(maps.Keys(p.tools)), p.always.names, p.never.names)
}
