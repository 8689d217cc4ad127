package shelltool

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Inspection is a call taken apart, for people to look at. It is a reading aid and nothing more: an inspection without
// remarks does not mean that a call is harmless, and what a program does with its words is not in it.
type Inspection struct {
	// Commands are the simple commands, in the order in which they are written, also those that run only under a
	// condition.
	Commands []Command `json:"commands,omitempty"`
	// Remarks say what is not in Commands, because only running the call would show it.
	Remarks []Remark `json:"remarks,omitempty"`
}

// Command is a simple command: a program or builtin with its words.
type Command struct {
	At Place `json:"at"`
	// Words are the name and its arguments. There may be none: an assignment or a redirection by itself.
	Words []Word `json:"words,omitempty"`
	// Assignments are written before the name, as NAME=value.
	Assignments []Word `json:"assignments,omitempty"`
	// Redirections are the command's own; those of a group of commands are in a Command without words before it.
	Redirections []Redirection `json:"redirections,omitempty"`
}

// Word is one word of a command.
type Word struct {
	// Text is what the program gets if Literal; else the word as it is written.
	Text    string `json:"text"`
	Literal bool   `json:"literal"`
}

// Redirection is one redirection of a command.
type Redirection struct {
	Operator string `json:"operator"` // as it is written, with a descriptor: ">", "2>&", "<<"
	Target   Word   `json:"target"`   // a file or descriptor; of a here-document its text
}

// Place is where something stands in a call.
type Place struct {
	Script int `json:"script"` // which of the call's scripts, from 0; 0 for argv
	Line   int `json:"line"`   // from 1; 0 for argv
	// Inside is how many literal "sh -c" scripts it is within; Line is then the line in the innermost.
	Inside int `json:"inside,omitempty"`
}

// Remark is about a part of a call that cannot be inspected, or that changes what the rest means.
type Remark struct {
	Kind RemarkKind `json:"kind"`
	At   Place      `json:"at"`
	Text string     `json:"text"` // the part of the call, as it is written
}

// RemarkKind says what a Remark is about.
type RemarkKind string

// The kinds of remarks. The comments say what they mean in words for people.
const (
	SyntaxError         RemarkKind = "syntax_error"         // unreadable from here on; what is before may still run
	Dialect             RemarkKind = "dialect"              // shells read it differently; its own reading is listed
	CarriageReturn      RemarkKind = "carriage_return"      // part of a word, although it looks like a line's end
	CommandSubstitution RemarkKind = "command_substitution" // output of commands becomes part of a command
	ProcessSubstitution RemarkKind = "process_substitution" // commands stand behind a file name
	Eval                RemarkKind = "eval"                 // text is run as commands
	Source              RemarkKind = "source"               // commands are read from a file
	VariableCommand     RemarkKind = "variable_command"     // what is run is known only then
	GlobCommand         RemarkKind = "glob_command"         // what is run depends on which files exist
	NestedShell         RemarkKind = "nested_shell"         // another shell runs something that cannot be read here
	Interpreter         RemarkKind = "interpreter"          // code in another language is run
	HereDocument        RemarkKind = "here_document"        // commands are read from text, or from a pipe
	Wrapper             RemarkKind = "wrapper"              // the command runs another one, named by its words
	Alias               RemarkKind = "alias"                // names are given another meaning
	Function            RemarkKind = "function"             // a name is given another meaning
	Environment         RemarkKind = "environment"          // a variable decides what names and programs mean
)

// Bounds of what is looked at. Past them there is a remark, as for anything else that cannot be read.
const (
	// maxNesting bounds literal scripts within scripts, and wrappers that run wrappers.
	maxNesting = 8
	// maxDepth bounds statements within statements: each shows what is in it.
	maxDepth = 32
	// maxComments bounds the comments of a script that end with a backslash: each takes a reading of its own.
	maxComments = 16
)

// Inspect takes the arguments of a call of any form apart, as a POSIX shell or bash reads them: which of them runs
// scripts is not known here. Its error is that they are not arguments of such a tool; a script that cannot be read is a
// remark.
func Inspect(arguments json.RawMessage) (Inspection, error) { return InspectFor("", arguments) }

// InspectFor is Inspect for the program that runs scripts, by its path: what that one reads is listed, where it is one
// of those whose reading is known.
func InspectFor(shell string, arguments json.RawMessage) (Inspection, error) {
	r, err := read(arguments)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect: %w", err)
	}
	return inspect(r, dialectOf(shell)).Inspection, nil
}

// dialect is how a shell reads scripts.
type dialect int

const (
	unsure dialect = iota
	readsPOSIX
	readsBash
)

// dialectOf tells it from a shell's name, or from that of the program which a link of that name leads to.
func dialectOf(shell string) dialect {
	if real, err := filepath.EvalSymlinks(shell); err == nil && filepath.IsAbs(shell) {
		shell = real
	}
	switch filepath.Base(shell) {
	case "dash", "ash", "busybox":
		return readsPOSIX
	case "bash", "rbash":
		return readsBash
	}
	return unsure
}

// inspect takes a call apart, and finds out which programs it names.
func inspect(r request, shell dialect) *inspector {
	in := newInspector(Place{}, shell, make(map[nestedScript]*inspector))
	if r.argv != nil {
		words := make([]Word, len(r.argv))
		for i, text := range r.argv {
			words[i] = Word{Text: text, Literal: true}
		}
		in.command(Command{Words: words})
	}
	for i, script := range r.scripts {
		in.at = Place{Script: i}
		in.script(script)
	}
	return in
}

// inspector collects an inspection.
type inspector struct {
	Inspection
	calls
	at    Place
	lang  dialect
	bash  bool   // which of the two readings is looked at
	fed   bool   // the command reads something else than the empty standard input
	depth int    // how many statements it is within
	text  string // the script
	said  map[Remark]bool
	// nested is what is known of the scripts within scripts, however often they are looked into.
	nested map[nestedScript]*inspector
}

// nestedScript is a literal script within another.
type nestedScript struct {
	at   Place
	lang dialect
	text string
}

func newInspector(at Place, lang dialect, nested map[nestedScript]*inspector) *inspector {
	return &inspector{at: at, lang: lang, said: make(map[Remark]bool), nested: nested}
}

func (in *inspector) remark(kind RemarkKind, text string) {
	r := Remark{Kind: kind, At: in.at, Text: text}
	if !in.said[r] {
		in.said[r] = true
		in.Remarks = append(in.Remarks, r)
	}
}

// script inspects a script as both kinds of shells read it, and takes over what the one that runs it reads.
func (in *inspector) script(text string) {
	chosen, err := in.reading(text, syntax.LangPOSIX)
	other, otherErr := in.reading(text, syntax.LangBash)
	if in.lang == readsBash {
		chosen, err, other, otherErr = other, otherErr, chosen, err
	}
	differ := err != nil || otherErr != nil || !reflect.DeepEqual(chosen.Inspection, other.Inspection)
	if err != nil && otherErr == nil {
		chosen, err = other, nil
	}
	in.Commands = append(in.Commands, chosen.Commands...)
	in.Remarks = append(in.Remarks, chosen.Remarks...)
	in.calls.add(&chosen.calls)
	if in.lang == unsure && differ && otherErr == nil { // it may be that one
		for _, r := range other.Remarks {
			if !slices.Contains(in.Remarks, r) {
				in.Remarks = append(in.Remarks, r)
			}
		}
		in.calls.add(&other.calls)
	}
	if before, _, ok := strings.Cut(text, "\r"); ok {
		in.at.Line = 1 + strings.Count(before, "\n")
		in.remark(CarriageReturn, "U+000D")
	}
	if err != nil {
		in.at.Line = errorLine(err)
		in.remark(SyntaxError, err.Error())
		in.unknown("the rest of the script")
	} else if differ {
		in.at.Line = 1
		in.remark(Dialect, "a POSIX shell and bash read this script differently")
	}
}

// reading inspects a script in one language. What stands before an error is inspected too.
func (in *inspector) reading(text string, lang syntax.LangVariant) (own *inspector, err error) {
	text, sure := plainComments(text, lang)
	own = newInspector(in.at, in.lang, in.nested)
	own.bash, own.text = lang == syntax.LangBash, text
	if !sure {
		own.remark(Dialect, `a line with # ends with \: if that is a comment, the next line is a command of its own`)
	}
	defer func() {
		if recover() != nil { // in the parser, for all that is known
			err = errors.New("the script could not be read")
		}
	}()
	parser := syntax.NewParser(syntax.Variant(lang))
	for stmt, e := range parser.StmtsSeq(strings.NewReader(text)) {
		switch { // no break: the parser goes on after some errors, and panics when nobody listens
		case err != nil:
		case e != nil:
			err = e
		default:
			own.statement(stmt)
		}
	}
	return own, err
}

// plainComments returns the script as long as it was, with a space for the backslash at the end of each comment. To a
// shell a comment ends with its line, but the parser takes the next line for the rest of the command. sure says that no
// such comment is left.
func plainComments(text string, lang syntax.LangVariant) (plain string, sure bool) {
	suspects := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "#") && strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`) {
			suspects++
		}
	}
	if suspects > maxComments {
		return text, false
	}
	for range suspects {
		end, err := continuedComment(text, lang)
		if err != nil {
			return text, false
		}
		if end < 0 {
			break
		}
		text = text[:end] + " " + text[end+1:]
	}
	return text, true
}

// continuedComment returns where the backslash of a comment is that ends with one, or -1.
func continuedComment(text string, lang syntax.LangVariant) (end int, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the script could not be read")
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return 0, err
	}
	end = -1
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && end < 0 {
			start := int(c.Hash.Offset())
			line, _, _ := strings.Cut(text[start:], "\n")
			if line = strings.TrimRight(line, "\r"); strings.HasSuffix(line, `\`) {
				end = start + len(line) - 1
			}
		}
		return true
	})
	return end, nil
}

func errorLine(err error) int {
	switch e := err.(type) {
	case syntax.ParseError:
		return int(e.Pos.Line())
	case syntax.LangError:
		return int(e.Pos.Line())
	}
	return 0
}
