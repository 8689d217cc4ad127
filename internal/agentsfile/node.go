package agentsfile

// kind is what a node of the file is.
type kind string

const (
	kindMapping  kind = "a mapping"
	kindSequence kind = "a list"
	kindString   kind = "text"
	kindInteger  kind = "a whole number"
	kindNumber   kind = "a number"
	kindBoolean  kind = "true or false"
	kindNull     kind = "nothing"
)

// style is how a string is written; it says where a place inside the string is in the file.
type style int

const (
	stylePlain style = iota
	styleQuoted
	styleLiteral
	styleFolded // also text with escapes, or over several lines: not in the file as its value has it
)

// node is a value of the file.
type node struct {
	kind    kind
	pos     Position
	text    string // scalars: the value, before expansion
	style   style
	indent  int // block scalars: how far the text is indented
	entries []entry
	items   []*node
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	pos   Position
	value *node
}

// at returns the position of the place in the string's value. Where folding or escapes make that a guess, it returns
// the position of the string.
func (n *node) at(line, column int) Position {
	p := n.pos
	switch n.style {
	case stylePlain, styleQuoted:
		if line != 1 {
			return p
		}
		p.Column += column - 1
		if n.style == styleQuoted {
			p.Column++
		}
	case styleLiteral:
		p.Line += line
		p.Column = n.indent + column
	}
	return p
}
