// Package markup builds HTML and SVG in which no text can be markup.
//
// Names of elements and attributes are constants of the program: their type is not exported, so nothing but a constant
// can be one. Texts and values of attributes may come from anybody: they are escaped when a page is written, and
// characters that show nothing, reorder text or are obeyed are written out as package visible does. There is no way to
// add markup as text, and there are no scripts, links or resources from elsewhere.
package markup

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"countersign/internal/visible"
)

// constant is what only a constant of a program can be: nothing outside this package can convert to it.
type constant string

// Node is an element or a text. The zero Node is nothing.
type Node struct {
	name     constant
	attrs    []Attr
	children []Node
	text     string // escaped
}

// Attr is an attribute of an element.
type Attr struct {
	name  constant
	value string // escaped
}

// E returns an element.
func E(name constant, children ...Node) Node { return Node{name: name, children: children} }

// With returns the element with more attributes.
func (n Node) With(attrs ...Attr) Node {
	n.attrs = append(n.attrs[:len(n.attrs):len(n.attrs)], attrs...)
	return n
}

// T returns a text.
func T(text string) Node { return Node{text: escape(text)} }

// F returns a text as fmt.Sprintf makes it.
func F(format string, args ...any) Node { return T(fmt.Sprintf(format, args...)) }

// Style returns a style sheet. It is a constant of the program.
func Style(css constant) Node { return Node{name: "style", children: []Node{{text: string(css)}}} }

// Class returns the attribute class.
func Class(name constant) Attr { return Attr{"class", string(name)} }

// A returns an attribute.
func A(name constant, value string) Attr { return Attr{name, escape(value)} }

// N returns an attribute whose value is a number, with two decimals at most.
func N(name constant, value float64) Attr {
	return Attr{name, strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64)}
}

// Concat joins lists of nodes.
func Concat(lists ...[]Node) (all []Node) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// WritePage writes an HTML document.
func WritePage(w io.Writer, root Node) error {
	b := bufio.NewWriter(w)
	b.WriteString("<!DOCTYPE html>\n") // a bufio.Writer keeps its first error for Flush
	root.write(b)
	b.WriteString("\n")
	return b.Flush()
}

// empties are the elements that have no end.
func empty(name constant) bool { return name == "meta" || name == "br" || name == "col" }

// breaks reports whether a line ends behind the element, so that a page can be read and compared as text.
func breaks(name constant) bool {
	switch name {
	case "html", "head", "body", "meta", "title", "style", "main", "header", "footer", "section", "h1", "h2", "h3", "p",
		"table", "thead", "tbody", "tr", "svg", "figure", "div", "dl", "dd", "ul", "li", "rect", "g", "colgroup":
		return true
	}
	return false
}

func (n Node) write(b *bufio.Writer) {
	if n.name == "" {
		b.WriteString(n.text)
		return
	}
	b.WriteString("<" + string(n.name))
	for _, a := range n.attrs {
		b.WriteString(" " + string(a.name) + `="` + a.value + `"`)
	}
	b.WriteString(">")
	if !empty(n.name) {
		for _, c := range n.children {
			c.write(b)
		}
		b.WriteString("</" + string(n.name) + ">")
	}
	if breaks(n.name) {
		b.WriteString("\n")
	}
}

// escape makes a text what it looks like, wherever it stands.
func escape(text string) string {
	shown := visible.Line(text)
	var out []byte
	for i := range len(shown) {
		switch c := shown[i]; c {
		case '<':
			out = append(out, "&lt;"...)
		case '>':
			out = append(out, "&gt;"...)
		case '&':
			out = append(out, "&amp;"...)
		case '"':
			out = append(out, "&#34;"...)
		case '\'':
			out = append(out, "&#39;"...)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
