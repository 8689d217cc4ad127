package celpolicy

import (
	"encoding/json"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"countersign/approvals"
)

// reads is what an expression depends on beside the call itself.
type reads struct {
	facts  []approvals.Fact
	fields [][2]string // the fields of requester and channel that stand for facts
	vars   []string    // names, sorted
}

// readsOf finds what a checked expression depends on: requester, channel and vars stand before a field in it.
func readsOf(checked *cel.Ast) (r reads) {
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.SelectKind || x.AsSelect().Operand().Kind() != ast.IdentKind {
			return
		}
		field := [2]string{x.AsSelect().Operand().AsIdent(), x.AsSelect().FieldName()}
		if field[0] == wordVars && !slices.Contains(r.vars, field[1]) {
			r.vars = append(r.vars, field[1])
		}
		fact, ok := factOf[field]
		if ok && !slices.Contains(r.fields, field) {
			r.fields = append(r.fields, field)
		}
		if ok && !slices.Contains(r.facts, fact) {
			r.facts = append(r.facts, fact)
		}
	}))
	slices.Sort(r.vars)
	slices.Sort(r.facts)
	return r
}

// unknown are the attributes that an evaluation leaves open.
func (r *reads) unknown(known approvals.PolicyFacts) (open []*cel.AttributePatternType) {
	for _, f := range r.fields {
		if !known.Knows(factOf[f]) {
			open = append(open, cel.AttributePattern(f[0]).QualString(f[1]))
		}
	}
	return open
}

// values are the variables with what they have, as a requirement records them.
func (r *reads) values(vars Vars) ([]approvals.PolicyVar, error) {
	var all []approvals.PolicyVar
	for _, name := range r.vars {
		text, err := json.Marshal(vars[name])
		if err != nil {
			return nil, fmt.Errorf("vars.%s: %w", name, err)
		}
		all = append(all, approvals.PolicyVar{Name: name, Value: string(text)})
	}
	return all, nil
}

// pinned returns the tool that the expression is for, when it can only hold for one: it is, or has among the parts that
// && joins, tool == "NAME".
func pinned(x ast.Expr) (string, bool) {
	if x.Kind() != ast.CallKind {
		return "", false
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		for _, part := range args {
			if name, ok := pinned(part); ok {
				return name, true
			}
		}
	case operators.Equals:
		for i, side := range args {
			other := args[1-i]
			if side.Kind() != ast.IdentKind || side.AsIdent() != wordTool || other.Kind() != ast.LiteralKind {
				continue
			}
			name, ok := other.AsLiteral().(types.String)
			return string(name), ok
		}
	}
	return "", false
}

// Schemas has the schemas of the arguments of tools by name; nothing where they are not certain.
type Schemas map[string]json.RawMessage

// Add notes that there is a tool of this name with these parameters. One that has other parameters elsewhere has none
// that are certain.
func (s Schemas) Add(tool string, parameters json.RawMessage) {
	if known, ok := s[tool]; ok && string(known) != string(parameters) {
		parameters = nil
	}
	s[tool] = parameters
}
