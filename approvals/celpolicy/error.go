package celpolicy

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// Error says what is wrong with an expression.
type Error struct{ Mistakes []Mistake }

// Mistake is one place in an expression. Line and Column count from 1, columns in characters.
type Mistake struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Message)
	}
	return strings.Join(lines, "\n")
}

// mistakeAt is a mistake at a location, which is 1-based in lines and 0-based in columns; a missing one is negative.
func mistakeAt(at common.Location, message string) Mistake {
	return Mistake{max(at.Line(), 1), max(at.Column()+1, 1), message}
}

// misused finds requester, channel and vars where they do not stand before a field: they are objects, and compared
// with anything else they would differ without a word.
func (e *environment) misused(parsed *cel.Ast) error {
	native := parsed.NativeRep()
	fine := make(map[int64]bool) // operands of fields
	found := &Error{}
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.SelectKind:
			fine[x.AsSelect().Operand().ID()] = true
		case ast.IdentKind:
			_, object := objectWords[x.AsIdent()]
			if object && slices.Contains(e.words, x.AsIdent()) && !fine[x.ID()] {
				at := native.SourceInfo().GetStartLocation(x.ID())
				found.Mistakes = append(found.Mistakes, mistakeAt(at, objectHint(x.AsIdent())))
			}
		}
	}))
	if len(found.Mistakes) == 0 {
		return nil
	}
	return found
}

func objectHint(word string) string {
	switch word {
	case wordRequester:
		return `requester is an object; write requester.id, for instance requester.id == "U1"`
	case wordChannel:
		return `channel is an object; write channel.id, for instance channel.id == "C1"`
	}
	return "vars is an object; write vars.NAME"
}

// typeError says what the checker found.
func (e *environment) typeError(parsed *cel.Ast, issues *cel.Issues) *Error {
	native := parsed.NativeRep()
	byID := make(map[int64]ast.Expr)
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(x ast.Expr) { byID[x.ID()] = x }))
	found := &Error{}
	for _, m := range issues.Errors() {
		if x := byID[m.ExprID]; x != nil && x.ID() == native.Expr().ID() && isArithmetic(x) {
			return wholly("the expression gives a number or a text, not true or false; compare it with something")
		}
		found.Mistakes = append(found.Mistakes, mistakeAt(m.Location, e.typeMessage(byID[m.ExprID], m.Message)))
	}
	return found
}

func isArithmetic(x ast.Expr) bool {
	if x.Kind() != ast.CallKind {
		return false
	}
	switch x.AsCall().FunctionName() {
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
		return true
	}
	return false
}

// typeMessage puts a message of the checker about x, which may be nil, into the words of the agents file.
func (e *environment) typeMessage(x ast.Expr, message string) string {
	message = strings.TrimSuffix(message, " (in container '')")
	if name, ok := strings.CutPrefix(message, "undeclared reference to "); ok {
		return "nothing is called " + name + "; known are " + listed(e.words)
	}
	if name, ok := strings.CutPrefix(message, "undefined field "); ok {
		return e.missingField(owner(x), strings.Trim(name, "'"))
	}
	if rest, ok := strings.CutPrefix(message, "found no matching overload for '"); ok {
		return overloadMessage(rest)
	}
	return strings.ReplaceAll(message, rootType, "args")
}

// owner is the word that a field is looked up in: args also for fields of its fields.
func owner(x ast.Expr) string {
	for x != nil && x.Kind() == ast.SelectKind {
		x = x.AsSelect().Operand()
		if x.Kind() == ast.IdentKind {
			return x.AsIdent()
		}
	}
	return ""
}
