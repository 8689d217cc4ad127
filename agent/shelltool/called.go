package shelltool

import (
	"path"
	"slices"
	"strings"
)

// calls are the programs that a call names, in the order in which they are written, and what keeps them from being
// found.
type calls struct {
	programs []called
	unknowns []string // parts of the call that run something which nobody can name before
	renamed  []string // names that functions have
	moves    bool     // the directory may have changed by now
	loops    bool     // what is written before may run after
	paths    bool     // the PATH changes on the way
}

// called is one program or file with code.
type called struct {
	name  string
	code  bool // a shell or an interpreter reads it
	moved bool // the directory may change before it
	file  bool // a program runs it, no shell: it is a file also where shells have a builtin of that name
}

func (c *calls) add(more *calls) {
	for _, p := range more.programs {
		p.moved = p.moved || c.moves
		c.programs = append(c.programs, p)
	}
	c.unknowns = append(c.unknowns, more.unknowns...)
	c.renamed = append(c.renamed, more.renamed...)
	c.moves, c.paths, c.loops = c.moves || more.moves, c.paths || more.paths, c.loops || more.loops
}

// maxCalled bounds how many programs are looked for.
const maxCalled = 64

// named notes the name of a command.
func (c *calls) named(name string) {
	c.program(called{name: name})
	c.moves = c.moves || slices.Contains([]string{"cd", "chdir", "pushd", "popd", "eval"}, name)
}

func (c *calls) program(p called) {
	p.moved = c.moves
	if len(c.programs) < maxCalled {
		c.programs = append(c.programs, p)
	} else {
		c.unknown("what comes after so many programs")
	}
}

// unknown notes a part of the call whose program cannot be named. Where shells run it, it may do anything.
func (c *calls) unknown(text string) {
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100]) + "…"
	}
	if len(c.unknowns) < maxCalled && !slices.Contains(c.unknowns, text) {
		c.unknowns = append(c.unknowns, text)
	}
}

// inlineCode are the letters of options that are followed by code, or by the name of a module, instead of a file.
var inlineCode = map[string]string{
	"python": "cm", "pypy": "cm", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "php": "r", "lua": "e",
	"luajit": "e",
}

// reads notes the file that a shell or an interpreter reads its commands from, when its words tell.
func (c *calls) reads(words []Word) {
	name := strings.TrimRight(path.Base(words[0].Text), "0123456789.")
	letters, known := inlineCode[name]
	sourced := words[0].Text == "." || name == "source"
	if !known && (slices.Contains(shells, name) || sourced) {
		letters, known = "cs", true
	}
	for _, w := range words[1:] {
		switch {
		case !known || !w.Literal || w.Text == "-":
			c.unknown(written(words))
			return
		case !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+"):
			if sourced && !strings.Contains(w.Text, "/") { // shells look for it in different places
				c.unknown(written(words))
				return
			}
			c.program(called{name: w.Text, code: true})
			return
		case !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, letters):
			return // the code is in the words, and they are shown
		}
	}
	c.unknown(written(words))
}
