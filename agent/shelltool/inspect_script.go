package shelltool

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// statement inspects a statement and everything in it.
func (in *inspector) statement(stmt *syntax.Stmt) {
	before := *in
	defer func() { in.at, in.fed = before.at, before.fed }()
	in.line(stmt)
	numbers := in.numbers(stmt.Redirs)
	redirections := in.redirections(stmt.Redirs)
	in.fed = in.fed || in.feeds(stmt.Redirs)
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		c := Command{Redirections: redirections}
		for _, a := range cmd.Assigns {
			c.Assignments = append(c.Assignments, in.assignment(a))
		}
		for _, w := range cmd.Args {
			c.Words = append(c.Words, numbers.before(w.Pos())...)
			c.Words = append(c.Words, in.word(w))
		}
		c.Words = append(c.Words, numbers.rest()...)
		if len(cmd.Args) > 0 && !c.Words[0].Literal {
			in.unknownName(cmd.Args[0])
		}
		in.command(c)
	case *syntax.DeclClause:
		c := Command{Redirections: redirections, Words: []Word{{Text: cmd.Variant.Value, Literal: true}}}
		for _, a := range cmd.Args {
			c.Words = append(c.Words, in.assignment(a))
		}
		in.command(c)
	default:
		if len(redirections) > 0 || stmt.Cmd == nil {
			c := Command{Redirections: redirections}
			if stmt.Cmd == nil {
				c.Words = numbers.rest()
			}
			in.command(c)
		}
		if stmt.Cmd == nil && stmt.Negated {
			in.remark(Dialect, "!") // an error in one shell and nothing in another
		}
	}
	in.inside(stmt)
}

// inside inspects the statements within a statement, wherever they are: in compound commands and in words.
func (in *inspector) inside(stmt *syntax.Stmt) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if n != stmt {
				in.deeper(n)
				return false
			}
		case *syntax.BinaryCmd:
			in.binary(n)
			return false
		case *syntax.FuncDecl:
			in.at.Line = int(n.Pos().Line())
			in.remark(Function, in.source(n))
			in.renamed, in.loops = append(in.renamed, n.Name.Value), true
		case *syntax.WhileClause, *syntax.ForClause:
			in.loops = true
		case *syntax.BinaryTest:
			in.comparison(n)
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.TsVarSet && !plainNames(in.word(w)) {
				in.remark(Eval, in.source(n))
				in.unknown(in.source(n))
			}
		case *syntax.CmdSubst:
			in.at.Line = int(n.Pos().Line())
			in.remark(CommandSubstitution, in.source(n))
		case *syntax.ProcSubst:
			in.at.Line = int(n.Pos().Line())
			in.remark(ProcessSubstitution, in.source(n))
		}
		return true
	})
}

// comparison remarks on a comparison of numbers in [[ ]]: bash reads both sides as expressions, and so runs what is in
// the subscripts of a variable's value.
func (in *inspector) comparison(n *syntax.BinaryTest) {
	switch n.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
	default:
		return
	}
	for _, x := range []syntax.TestExpr{n.X, n.Y} {
		if w, ok := x.(*syntax.Word); ok && !in.number(w) {
			in.remark(Eval, in.source(n))
			in.unknown(in.source(n))
			return
		}
	}
}

// number reports whether a word is a number, whatever the variables hold.
func (in *inspector) number(w *syntax.Word) bool {
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok && (p.Length || p.Param != nil &&
			strings.Contains("#?$!", p.Param.Value)) {
			return true
		}
	}
	text := in.word(w)
	return text.Literal && strings.Trim(text.Text, "0123456789") == ""
}

// deeper inspects a statement within another one.
func (in *inspector) deeper(stmt *syntax.Stmt) {
	if in.depth == maxDepth {
		in.remark(SyntaxError, fmt.Sprintf("commands are more than %d deep within others", maxDepth))
		in.unknown("the rest of the script")
		return
	}
	in.depth++
	in.statement(stmt)
	in.depth--
}

func (in *inspector) binary(n *syntax.BinaryCmd) {
	in.statement(n.X)
	fed := in.fed
	in.fed = fed || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
	in.statement(n.Y)
	in.fed = fed
}

func (in *inspector) line(n syntax.Node) {
	if n.Pos().IsValid() {
		in.at.Line = int(n.Pos().Line())
	}
}

// unknownName remarks on a command whose name is not written out.
func (in *inspector) unknownName(w *syntax.Word) {
	kind := GlobCommand
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			kind = VariableCommand
		case *syntax.Lit:
			if strings.HasPrefix(n.Value, "~") {
				kind = VariableCommand
			}
		}
		return true
	})
	in.remark(kind, in.source(w))
	in.unknown(in.source(w))
	in.moves = true
}

// numberWords are numbers of several digits before redirections, which the shell takes for words of the command.
type numberWords []*syntax.Lit

// isWord reports whether a number before a redirection is none of a descriptor: only bash knows such of several digits.
func (in *inspector) isWord(n *syntax.Lit) bool { return !in.bash && len(n.Value) > 1 }

func (in *inspector) numbers(redirs []*syntax.Redirect) (numbers numberWords) {
	for _, r := range redirs {
		if r.N != nil && in.isWord(r.N) {
			numbers = append(numbers, r.N)
		}
	}
	return numbers
}

// before takes those out that stand before a place.
func (n *numberWords) before(at syntax.Pos) (words []Word) {
	for len(*n) > 0 && at.After((*n)[0].Pos()) {
		words = append(words, Word{Text: (*n)[0].Value, Literal: true})
		*n = (*n)[1:]
	}
	return words
}

func (n *numberWords) rest() (words []Word) {
	for _, lit := range *n {
		words = append(words, Word{Text: lit.Value, Literal: true})
	}
	return words
}

// feeds reports whether one of the redirections is of standard input.
func (in *inspector) feeds(redirs []*syntax.Redirect) bool {
	for _, r := range redirs {
		if (r.N == nil || r.N.Value == "0" || in.isWord(r.N)) && strings.HasPrefix(r.Op.String(), "<") {
			return true
		}
	}
	return false
}

func (in *inspector) redirections(redirs []*syntax.Redirect) []Redirection {
	var all []Redirection
	for _, r := range redirs {
		out := Redirection{Operator: r.Op.String()}
		if r.N != nil && !in.isWord(r.N) {
			out.Operator = r.N.Value + out.Operator
		}
		if r.Hdoc != nil {
			out.Target = in.document(r)
		} else if r.Word != nil {
			out.Target = in.word(r.Word)
		}
		all = append(all, out)
	}
	return all
}

// document is the text of a here-document. It is literal when its delimiter is quoted or nothing in it is special.
func (in *inspector) document(r *syntax.Redirect) Word {
	text := in.source(r.Hdoc)
	end := strings.LastIndexByte(text, '\n') + 1 // the delimiter's line
	if delimiter := in.word(r.Word).Text; strings.TrimLeft(text[end:], "\t") == delimiter {
		text = text[:end]
	}
	lit := r.Word.Lit()
	literal := lit == "" || strings.Contains(lit, `\`) || !strings.ContainsAny(text, "$`\\")
	return Word{Text: text, Literal: literal}
}

func (in *inspector) assignment(a *syntax.Assign) Word {
	switch {
	case a.Name == nil && a.Value != nil:
		return in.word(a.Value)
	case a.Naked && a.Index == nil:
		return Word{Text: a.Name.Value, Literal: true}
	case a.Index != nil || a.Array != nil || a.Append:
		return Word{Text: in.source(a)}
	}
	value := Word{Literal: true}
	if a.Value != nil {
		value = in.word(a.Value)
	}
	if !value.Literal {
		return Word{Text: in.source(a)}
	}
	return Word{Text: a.Name.Value + "=" + value.Text, Literal: true}
}

// word returns a word as the program gets it, if that can be known without running anything.
func (in *inspector) word(w *syntax.Word) Word {
	var b strings.Builder
	for i, part := range w.Parts {
		text, ok := in.part(part, i == 0)
		if !ok {
			return Word{Text: in.source(w)}
		}
		b.WriteString(text)
	}
	return Word{Text: b.String(), Literal: true}
}

// part returns a part of a word without its quotes, unless a shell would replace it.
func (in *inspector) part(part syntax.WordPart, first bool) (string, bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		return unescape(part.Value), !in.special(part.Value, first)
	case *syntax.SglQuoted:
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			if _, ok := inner.(*syntax.Lit); !ok || part.Dollar {
				return "", false
			}
		}
	default:
		return "", false
	}
	// A config of its own: the one that stands in for nil is shared, and written to.
	text, err := expand.Literal(new(expand.Config), &syntax.Word{Parts: []syntax.WordPart{part}})
	return text, err == nil
}

// unescape removes the backslashes of a text outside quotes.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// special reports whether an unquoted text holds something that a shell replaces: the name of a home directory, a
// pattern, braces.
func (in *inspector) special(text string, first bool) bool {
	open := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if strings.Contains(text[i:], "]") {
				return true
			}
		case '~':
			if i == 0 && first || i > 0 && (text[i-1] == '=' || text[i-1] == ':') {
				return true
			}
		case '{':
			open = true
		case ',', '.':
			if in.bash && open && (text[i] == ',' || strings.HasPrefix(text[i:], "..")) {
				return true
			}
		}
	}
	return false
}

// source is a part of the script as it is written.
func (in *inspector) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if !n.Pos().IsValid() || from > to || to > len(in.text) {
		return ""
	}
	return in.text[from:to]
}
