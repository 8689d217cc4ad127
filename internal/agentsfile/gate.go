package agentsfile

import "strings"

// Ask says when a call of a tool waits for people.
type Ask string

// The gates of tools.
const (
	AskDefault Ask = ""       // as the type of the tool has it
	AskAlways  Ask = "always" // needs_approval: true
	AskNever   Ask = "never"  // needs_approval: false
	AskIf      Ask = "if"     // needs_approval: an expression
)

// Gate is a tool's needs_approval.
type Gate struct {
	Ask        Ask
	Expression string // CEL, for AskIf
	node       *node
}

// Expression is an expression of the file, in CEL.
type Expression struct {
	Source string
	node   *node
}

// At returns the file's position of a place in the expression.
func (e Expression) At(line, column int) Position {
	if e.node == nil {
		return Position{}
	}
	return e.node.at(line, column)
}

// At returns the file's position of a place in the expression.
func (g Gate) At(line, column int) Position {
	if g.node == nil {
		return Position{}
	}
	return g.node.at(line, column)
}

func (o *object) decodeGate() Gate {
	n := o.values["needs_approval"]
	switch {
	case n == nil:
		return Gate{}
	case n.kind == kindBoolean && n.text == "true":
		return Gate{Ask: AskAlways, node: n}
	case n.kind == kindBoolean:
		return Gate{Ask: AskNever, node: n}
	case n.kind == kindString && strings.TrimSpace(n.text) != "":
		o.noVariables(n, "needs_approval")
		return Gate{Ask: AskIf, Expression: n.text, node: n}
	}
	o.problem(n.pos, "needs_approval is true, false, or an expression such as \"args.amount > 100\"")
	return Gate{Ask: AskAlways}
}
