package agentsfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. They are far above what people write, and keep a wrong file from being read for minutes.
const (
	maxBytes = 1 << 20
	maxDepth = 64
)

// parse reads one YAML document into nodes. It returns nil and notes problems when there is nothing to work with.
func (d *decoder) parse(data []byte) *node {
	if len(data) > maxBytes {
		d.problem(Position{File: d.file}, "the file is larger than 1 MiB")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !d.readable(data) {
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		d.syntax(err, data)
		return nil
	}
	return d.document(file)
}

// parseYAML turns a panic of the parser into an error: a file that no parser should stumble over is still only a file.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("not readable as YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// readable refuses what is no text: other encodings, control characters, and tabs where YAML wants spaces.
func (d *decoder) readable(data []byte) bool {
	ok := true
	for i, line := range strings.Split(string(data), "\n") {
		at := Position{File: d.file, Line: i + 1, Column: 1}
		switch {
		case !utf8.ValidString(line):
			d.problem(at, "the line is not valid UTF-8")
		case strings.ContainsFunc(strings.TrimSuffix(line, "\r"), isControl):
			d.problem(at, "the line holds a control character")
		case strings.HasPrefix(strings.TrimLeft(line, " "), "\t") && strings.TrimSpace(line) != "":
			at.Column += len(line) - len(strings.TrimLeft(line, " "))
			d.problem(at, "the line is indented with a tab; YAML wants spaces")
		default:
			continue
		}
		ok = false
	}
	return ok
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 }

func (d *decoder) syntax(err error, data []byte) {
	at := Position{File: d.file}
	message := err.Error()
	if e, ok := errors.AsType[yaml.Error](err); ok {
		message = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			at = d.position(t)
		}
	}
	if last := bytes.Count(data, []byte("\n")) + 1; at.Line > last {
		at.Line = last
	}
	d.problem(at, "not valid YAML: %s", message)
}

func (d *decoder) position(t *token.Token) Position {
	return Position{File: d.file, Line: t.Position.Line, Column: max(t.Position.Column, 1)}
}

func (d *decoder) document(file *ast.File) *node {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		d.problem(Position{File: d.file, Line: 1, Column: 1}, "the file is empty; start with `version: 1`")
		return nil
	case 1:
		return d.convert(bodies[0], 0)
	}
	d.problem(d.position(bodies[1].GetToken()), "a second document starts here; the file is one document")
	return nil
}

// convert returns the node for n, or nil after noting a problem.
func (d *decoder) convert(n ast.Node, depth int) *node {
	if depth > maxDepth {
		d.problem(d.position(n.GetToken()), "nested deeper than %d levels", maxDepth)
		return nil
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return d.mapping(v, v.Values, depth)
	case *ast.MappingValueNode:
		return d.mapping(v, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		return d.sequence(v, depth)
	case *ast.AnchorNode, *ast.AliasNode:
		d.problem(d.position(n.GetToken()), "anchors and aliases are not supported; write the value out")
		return nil
	case *ast.TagNode:
		d.problem(d.position(n.GetToken()), "tags are not supported; leave %s away", v.Start.Value)
		return nil
	}
	return d.scalar(n)
}

func (d *decoder) scalar(n ast.Node) *node {
	t := n.GetToken()
	s := &node{pos: d.position(t), text: t.Value}
	switch v := n.(type) {
	case *ast.StringNode:
		s.kind, s.text = kindString, v.Value
		if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
			s.style = styleQuoted
		}
		if origin := strings.TrimSpace(t.Origin); strings.Trim(origin, `"'`) != strings.Trim(s.text, `"'`) {
			s.style = styleFolded // with escapes, or over several lines
		}
	case *ast.LiteralNode:
		s.kind, s.text, s.style = kindString, v.Value.Value, styleLiteral
		s.indent = indentation(v.Value.GetToken().Origin)
		if v.Start.Type == token.FoldedType {
			s.style = styleFolded
		}
	case *ast.IntegerNode:
		s.kind, s.text = kindInteger, fmt.Sprint(v.Value)
	case *ast.FloatNode:
		s.kind = kindNumber
	case *ast.BoolNode:
		s.kind, s.text = kindBoolean, fmt.Sprint(v.Value)
	case *ast.NullNode:
		s.kind = kindNull
	default:
		d.problem(s.pos, "%s cannot be used here", t.Value)
		return nil
	}
	return s
}

func indentation(origin string) int {
	for line := range strings.SplitSeq(origin, "\n") {
		if trimmed := strings.TrimLeft(line, " "); strings.TrimRight(trimmed, "\r") != "" {
			return len(line) - len(trimmed)
		}
	}
	return 0
}

func (d *decoder) sequence(v *ast.SequenceNode, depth int) *node {
	s := &node{kind: kindSequence, pos: d.position(v.GetToken())}
	for _, item := range v.Values {
		if c := d.convert(item, depth+1); c != nil {
			s.items = append(s.items, c)
		}
	}
	return s
}

func (d *decoder) mapping(n ast.Node, values []*ast.MappingValueNode, depth int) *node {
	m := &node{kind: kindMapping, pos: d.position(n.GetToken())}
	lines := make(map[string]int)
	for i, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		at := d.position(v.Key.GetToken())
		if i == 0 && !isFlow(n) {
			m.pos = at
		}
		if !ok {
			d.key(v.Key, at)
			continue
		}
		if line, twice := lines[key.Value]; twice {
			d.problem(at, "key %q is there twice; the first is on line %d", key.Value, line)
			continue
		}
		lines[key.Value] = at.Line
		if c := d.convert(v.Value, depth+1); c != nil {
			m.entries = append(m.entries, entry{key.Value, at, c})
		}
	}
	return m
}

func isFlow(n ast.Node) bool {
	m, ok := n.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

// key notes what is wrong with a key that is no string.
func (d *decoder) key(k ast.MapKeyNode, at Position) {
	if _, ok := k.(*ast.MergeKeyNode); ok {
		d.problem(at, "merge keys (<<) are not supported; write the keys out")
		return
	}
	d.problem(at, "keys are text; put %s in quotes", k.GetToken().Value)
}
