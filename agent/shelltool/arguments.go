package shelltool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxInput bounds what is run: all of it has to fit on the pages that people read, and in one argument of a
	// process.
	maxInput = 64 << 10
	// maxCommands bounds the scripts of one native call.
	maxCommands = 64
)

// parameters is the schema of calls. Limits that are settings are not in it: a decision is bound to it.
const parameters = `{"type":"object","properties":{` +
	`"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":` +
	`"A program and its arguments. No shell reads them. Use this whenever one program is enough."},` +
	`"script":{"type":"string","minLength":1,"description":` +
	`"A script for the shell, for pipes, redirections and several commands. Give either argv or script, not both."},` +
	`"timeout_seconds":{"type":"integer","minimum":1,"description":` +
	`"Stop the command after so many seconds. Leave it out for the default."}` +
	`},"additionalProperties":false}`

// nativeParameters is the schema of the provider's own form.
const nativeParameters = `{"type":"object","properties":{` +
	`"commands":{"type":"array","items":{"type":"string","minLength":1},"minItems":1,"maxItems":64},` +
	`"timeout_ms":{"type":["integer","null"],"minimum":1},` +
	`"max_output_length":{"type":["integer","null"],"minimum":1}` +
	`},"required":["commands"],"additionalProperties":false}`

// request is what a call asks for. Exactly one of argv and scripts is set.
type request struct {
	argv    []string
	scripts []string
	native  bool
	timeout time.Duration // zero: the configured one
	output  int           // zero: the configured one
}

// arguments is the union of both forms.
type arguments struct {
	Argv     []string `json:"argv"`
	Script   *string  `json:"script"`
	Seconds  *int64   `json:"timeout_seconds"`
	Commands []string `json:"commands"`
	Millis   *int64   `json:"timeout_ms"`
	Length   *int64   `json:"max_output_length"`
}

// read reads the arguments of a call in either form. Its error's text is made for the model.
func read(raw json.RawMessage) (request, error) {
	var a arguments
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return request{}, unreadable(err)
	}
	if a.Commands != nil {
		return a.commands()
	}
	return a.command()
}

func (a *arguments) command() (request, error) {
	switch {
	case a.Millis != nil || a.Length != nil:
		return request{}, errors.New(
			"timeout_ms and max_output_length go with commands; here the limit is timeout_seconds")
	case (a.Argv == nil) == (a.Script == nil):
		return request{}, errors.New(`give exactly one of argv, as in {"argv":["git","status"]}, and script, ` +
			`as in {"script":"git status | head"}`)
	}
	r := request{argv: a.Argv}
	err := checkSeconds(&r.timeout, a.Seconds, time.Second, "timeout_seconds")
	if a.Script == nil {
		return r, errors.Join(err, checkArgv(a.Argv))
	}
	r.scripts = []string{*a.Script}
	return r, errors.Join(err, checkScript("script", *a.Script))
}

func (a *arguments) commands() (request, error) {
	r := request{scripts: a.Commands, native: true}
	switch {
	case a.Argv != nil || a.Script != nil || a.Seconds != nil:
		return r, errors.New("commands goes with timeout_ms and max_output_length only")
	case len(a.Commands) == 0:
		return r, errors.New("commands is empty")
	case len(a.Commands) > maxCommands:
		return r, fmt.Errorf("commands has %d entries, and at most %d are run in one call",
			len(a.Commands), maxCommands)
	}
	total := 0
	for i, script := range a.Commands {
		if err := checkScript(fmt.Sprintf("commands[%d]", i), script); err != nil {
			return r, err
		}
		total += len(script)
	}
	if total > maxInput {
		return r, tooLong("commands", total)
	}
	if a.Length != nil {
		if *a.Length < 1 {
			return r, errors.New("max_output_length must be at least 1")
		}
		r.output = int(min(*a.Length, 1<<30))
	}
	return r, checkSeconds(&r.timeout, a.Millis, time.Millisecond, "timeout_ms")
}

// checkSeconds sets d to n units, if there is an n.
func checkSeconds(d *time.Duration, n *int64, unit time.Duration, name string) error {
	switch {
	case n == nil:
		return nil
	case *n < 1:
		return fmt.Errorf("%s must be at least 1", name)
	case *n > int64(24*time.Hour/unit):
		return fmt.Errorf("%s is more than a day", name)
	}
	*d = time.Duration(*n) * unit
	return nil
}

func checkArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("argv needs a program as its first entry")
	}
	total := 0
	for i, word := range argv {
		if err := checkText(fmt.Sprintf("argv[%d]", i), word); err != nil {
			return err
		}
		total += len(word) + 1
	}
	if total > maxInput {
		return tooLong("argv", total)
	}
	return nil
}

func checkScript(name, script string) error {
	switch {
	case strings.TrimSpace(script) == "":
		return errors.New(name + " is empty")
	case len(script) > maxInput:
		return tooLong(name, len(script))
	}
	return checkText(name, script)
}

func tooLong(name string, n int) error {
	return fmt.Errorf(
		"%s has %d bytes, and at most %d are run, because people have to read them; put the rest into a file first",
		name, n, maxInput)
}

// checkText refuses what no process can be given, and what makes a text look different from what it is.
func checkText(name, s string) error {
	for i, r := range s {
		switch {
		case r == 0:
			return fmt.Errorf("%s has a zero byte at byte %d, which cannot be passed to a program", name, i)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			return fmt.Errorf("%s is not UTF-8 at byte %d", name, i)
		case unicode.Is(unicode.Bidi_Control, r):
			return fmt.Errorf("%s has the bidirectional control character U+%04X at byte %d, which makes it look "+
				"different from what it is; leave it out", name, r, i)
		}
	}
	return nil
}

// unreadable words a decoder's error.
func unreadable(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s must not be %s", e.Field, e.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no member %s", name)
	}
	return errors.New("the arguments are not a JSON object of this tool")
}
