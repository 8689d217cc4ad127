package celpolicy

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/parser"
)

// wordsOf are an expression as people read it who are asked because of it: arguments by their names alone, unless
// something else in it has that name, "and" and "or" spelt out, and without the comparison that says which tool it is
// for. It means the same as the expression, and is empty where that says no more than true or the tool.
func (e *environment) wordsOf(parsed *cel.Ast) string {
	native := parsed.NativeRep()
	info := ast.CopySourceInfo(native.SourceInfo())
	whole := ast.NewExprFactory().CopyExpr(native.Expr())
	parts := []ast.Expr{whole}
	for _, macro := range info.MacroCalls() {
		parts = append(parts, macro)
	}
	taken := make(map[string]bool)
	for _, word := range e.words {
		taken[word] = true
	}
	visit := func(do func(ast.Expr)) {
		for _, x := range parts {
			ast.PostOrderVisit(x, ast.NewExprVisitor(do))
		}
	}
	visit(func(x ast.Expr) {
		if x.Kind() == ast.IdentKind {
			taken[x.AsIdent()] = true
		}
	})
	visit(func(x ast.Expr) { bareArgument(x, taken) })
	words := &wording{info: info}
	text := words.of(whole, false)
	if words.failed || text == "true" {
		return ""
	}
	return text
}

// bareArgument makes NAME of args.NAME, unless the name is taken.
func bareArgument(x ast.Expr, taken map[string]bool) {
	if x.Kind() != ast.SelectKind || x.AsSelect().IsTestOnly() || taken[x.AsSelect().FieldName()] {
		return
	}
	if operand := x.AsSelect().Operand(); operand.Kind() == ast.IdentKind && operand.AsIdent() == wordArgs {
		x.SetKindCase(ast.NewExprFactory().NewIdent(x.ID(), x.AsSelect().FieldName()))
	}
}

// wording writes an expression.
type wording struct {
	info   *ast.SourceInfo
	failed bool
}

// of writes x. inner: it is a part of another expression, where what holds of several parts stands in brackets.
func (w *wording) of(x ast.Expr, inner bool) string {
	if x.Kind() != ast.CallKind {
		return w.written(x)
	}
	var parts []string
	switch operator := x.AsCall().FunctionName(); operator {
	case operators.LogicalAnd:
		for _, part := range operands(x, operator) {
			if text := w.of(part, true); text != "" {
				parts = append(parts, text)
			}
		}
		return bracketed(parts, " and ", inner)
	case operators.LogicalOr:
		for _, part := range operands(x, operator) {
			text := w.of(part, true)
			if text == "" { // it says which tool, and that is not said of the others
				text = w.written(part)
			}
			parts = append(parts, text)
		}
		return bracketed(parts, " or ", inner)
	}
	if name, ok := pinned(x); ok && name != "" {
		return ""
	}
	return w.written(x)
}

// operands are the parts of x that the operator joins.
func operands(x ast.Expr, operator string) (all []ast.Expr) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operator {
		return []ast.Expr{x}
	}
	for _, part := range x.AsCall().Args() {
		all = append(all, operands(part, operator)...)
	}
	return all
}

func bracketed(parts []string, between string, inner bool) string {
	text := strings.Join(parts, between)
	if inner && len(parts) > 1 {
		return "(" + text + ")"
	}
	return text
}

func (w *wording) written(x ast.Expr) string {
	text, err := parser.Unparse(x, w.info, parser.WrapOnColumn(maxExpression))
	w.failed = w.failed || err != nil
	return text
}
