package patchtool

import (
	"fmt"
	"slices"
	"strings"
)

const (
	markBegin  = "*** Begin Patch"
	markEnd    = "*** End Patch"
	markAdd    = "*** Add File:"
	markUpdate = "*** Update File:"
	markDelete = "*** Delete File:"
	markMove   = "*** Move to:"
	markEOF    = "*** End of File"

	// maxHunks bounds the hunks of a patch: each of them is looked for in the rest of its file.
	maxHunks = 1000
)

// parser reads a patch line by line.
type parser struct {
	lines []string
	next  int // the line that is read next, from 0
	hunks int
}

// newParser splits a patch into lines. A line that ends with CR LF was sent that way and means LF.
func newParser(text string) *parser {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\r"), "\r")
	}
	return &parser{lines: lines}
}

func (p *parser) wrong(format string, args ...any) error { return p.wrongAt(p.next+1, format, args...) }

func (p *parser) wrongAt(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) more() bool { return p.next < len(p.lines) }

func (p *parser) peek() string { return p.lines[p.next] }

// mark reports whether the next line is the marker by itself.
func (p *parser) mark(marker string) bool {
	return p.more() && strings.TrimRight(p.peek(), " \t\r") == marker
}

func (p *parser) skipBlank() {
	for p.more() && strings.TrimSpace(p.peek()) == "" {
		p.next++
	}
}

// parse reads a whole patch. Its error is a *SyntaxError.
func parse(text string) ([]section, error) {
	p := newParser(text)
	p.skipBlank()
	if !p.mark(markBegin) {
		return nil, p.wrong("a patch begins with the line %q", markBegin)
	}
	p.next++
	var all []section
	for {
		p.skipBlank()
		if !p.more() {
			return nil, p.wrong("the patch ends without the line %q", markEnd)
		}
		if p.mark(markEnd) {
			break
		}
		s, err := p.section()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, p.wrong("the patch changes nothing")
	}
	p.next++
	p.skipBlank()
	if p.more() {
		return nil, p.wrong("there is text after %q", markEnd)
	}
	return all, nil
}

// header returns the name after a marker, if the next line has that marker.
func (p *parser) header(marker string) (string, bool) {
	if !p.more() {
		return "", false
	}
	name, ok := strings.CutPrefix(p.peek(), marker)
	return strings.TrimSpace(name), ok
}

func (p *parser) section() (section, error) {
	s := section{line: p.next + 1}
	for _, m := range []struct {
		marker string
		op     Operation
	}{{markAdd, Add}, {markUpdate, Update}, {markDelete, Delete}} {
		name, ok := p.header(m.marker)
		if !ok {
			continue
		}
		s.op, s.path = m.op, name
		if err := checkPath(name); err != nil {
			return s, p.wrong("%v", err)
		}
		p.next++
		return s, p.body(&s)
	}
	return s, p.wrong("%s is no header of a file; those are %q, %q and %q, with a name after them",
		quote(p.peek()), markAdd, markUpdate, markDelete)
}

func (p *parser) body(s *section) (err error) {
	switch s.op {
	case Add:
		var lines []string
		if lines, err = p.added(); len(lines) > 0 {
			s.text, s.added = strings.Join(lines, "\n")+"\n", len(lines)
		}
		return err
	case Delete:
		return nil
	}
	if name, ok := p.header(markMove); ok {
		s.op, s.to = Move, name
		if err := checkPath(name); err != nil {
			return p.wrong("%v", err)
		}
		if name == s.path {
			return p.wrong("the file is moved to where it is; leave the line out")
		}
		p.next++
	}
	s.hunks, err = p.changes()
	if err == nil && len(s.hunks) == 0 && s.op == Update {
		return p.wrongAt(s.line, "nothing is said about what to change in %s", quote(s.path))
	}
	return err
}

// added reads the lines of a new file.
func (p *parser) added() (lines []string, err error) {
	for p.more() && !strings.HasPrefix(p.peek(), "***") {
		text, ok := strings.CutPrefix(p.peek(), "+")
		if !ok {
			if p.skipBlank(); p.more() && !strings.HasPrefix(p.peek(), "***") {
				return nil, p.wrong("each line of a new file begins with +, also an empty one")
			}
			break
		}
		lines = append(lines, text)
		p.next++
	}
	return lines, nil
}

// changes reads the hunks of a file.
func (p *parser) changes() ([]hunk, error) {
	var all []hunk
	for {
		if len(all) > 0 && all[len(all)-1].end {
			p.skipBlank()
		}
		if !p.more() || strings.HasPrefix(p.peek(), "***") && !p.mark(markEOF) {
			return all, p.effective(all)
		}
		if strings.TrimSpace(p.peek()) == "" && p.blankToTheEnd() {
			p.skipBlank()
			return all, p.effective(all)
		}
		h, err := p.hunk(len(all) == 0)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
		if p.hunks++; p.hunks > maxHunks {
			return nil, p.wrongAt(h.line, "the patch has more than %d hunks; send it in parts", maxHunks)
		}
	}
}

// effective refuses hunks none of which changes anything. Beside others such a one says where they go on.
func (p *parser) effective(all []hunk) error {
	for _, h := range all {
		if slices.ContainsFunc(h.lines, func(c change) bool { return c.kind != ' ' }) {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return p.wrongAt(all[0].line, "the hunk changes nothing: none of its lines begins with + or -")
}

// blankToTheEnd reports whether nothing but empty lines is left of the section.
func (p *parser) blankToTheEnd() bool {
	for _, line := range p.lines[p.next:] {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, "***")
		}
	}
	return true
}

func (p *parser) hunk(first bool) (hunk, error) {
	h := hunk{line: p.next + 1}
	for p.more() && strings.HasPrefix(p.peek(), "@@") {
		heading := strings.TrimPrefix(p.peek()[2:], " ")
		if strings.TrimSpace(heading) != "" {
			h.headings = append(h.headings, heading)
		}
		h.marks++
		p.next++
	}
	if h.line == p.next+1 && !first {
		return h, p.wrong("a further hunk begins with @@")
	}
	for p.more() && !strings.HasPrefix(p.peek(), "@@") && !strings.HasPrefix(p.peek(), "***") {
		c, err := p.change()
		if err != nil {
			return h, err
		}
		h.lines = append(h.lines, c)
		p.next++
	}
	if p.mark(markEOF) {
		h.end = true
		p.next++
	}
	if len(h.lines) == 0 && !(h.end && h.marks > 0) {
		return h, p.wrongAt(h.line, "the hunk has no lines")
	}
	return h, nil
}

func (p *parser) change() (change, error) {
	line := p.peek()
	if line == "" {
		return change{kind: ' ', blank: true}, nil
	}
	switch line[0] {
	case ' ', '-', '+':
		return change{kind: line[0], text: line[1:]}, nil
	}
	return change{}, p.wrong("%s begins with none of space, -, + and @@", quote(line))
}

// parseDiff reads the hunks of an operation in the provider's form, or the contents of a new file: there, its last line
// ends the file as it is, without a line end of its own.
func parseDiff(s *section, diff string) (err error) {
	p := newParser(diff)
	if s.op == Add {
		if diff != "" {
			var lines []string
			lines, err = p.added()
			s.text, s.added = strings.Join(lines, "\n"), len(lines)
		}
	} else {
		s.hunks, err = p.changes()
	}
	if err == nil && p.mark(markEnd) {
		p.next++
		p.skipBlank()
	}
	switch {
	case err != nil:
		return err
	case p.more() && diff != "":
		return p.wrong("%s does not belong into a diff of one file", quote(p.peek()))
	case s.op == Update && len(s.hunks) == 0:
		return p.wrongAt(1, "the diff changes nothing")
	}
	return nil
}

// quote shows a piece of a patch in a message.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
