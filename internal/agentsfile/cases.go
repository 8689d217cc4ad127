package agentsfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// CaseFile is a file of cases: calls, and what the policies of an agents file are expected to say about them. It is
// read as strictly as the agents file.
type CaseFile struct {
	Path string
	// Environment are values for ${NAME} in the agents file that come before those of the environment, so that a
	// machine without its secrets can try it.
	Environment map[string]string
	Cases       []*Case // in the order of the file; at least one
}

// Case is one call and what is expected of it.
type Case struct {
	Position
	Name, Tool string
	Agent      string          // empty: the default agent
	Arguments  json.RawMessage // an object
	CallID     string
	Requester  CaseRequester
	Channel    CaseChannel
	Vars       []Var // instead of the agents file's of the same name
	Expect     Expectation
}

// CaseRequester is who asks in a case.
type CaseRequester struct {
	ID, Name string
	Groups   []string
}

// CaseChannel is where a case is asked.
type CaseChannel struct {
	ID, Name                string
	Direct, Private, Shared bool
}

// What cases hold, and the words of their parts.
var (
	caseFileKeys = keys{now: []string{"version", "environment", "cases"}}
	caseKeys     = keys{now: []string{
		"name", "agent", "tool", "arguments", "requester", "channel", "call_id", "vars", "expect",
	}}
	caseRequesterKeys = keys{now: []string{"id", "name", "groups"}}
	caseChannelKeys   = keys{now: []string{"id", "name", "direct", "private", "shared"}}
)

// Who asks where, in a case that does not say.
const (
	caseRequester = "U0REQUESTER"
	caseChannel   = "C0CHANNEL"
	caseCallID    = "call_1"
)

// ReadCases reads the file of cases at path; lookup finds environment variables. A file that cannot be used is a
// Problems.
func ReadCases(path string, lookup func(string) (string, bool)) (*CaseFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	return ParseCases(path, data, lookup)
}

// ParseCases reads the file's bytes; path is what problems call it.
func ParseCases(path string, data []byte, lookup func(string) (string, bool)) (*CaseFile, error) {
	d := &decoder{file: path, lookup: lookup}
	root := d.parse(data)
	if root == nil {
		return nil, d.problems.sorted()
	}
	f := &CaseFile{Path: path, Environment: make(map[string]string)}
	o := d.object(root, "the file of cases", caseFileKeys)
	if root.kind == kindMapping {
		o.version()
		o.decodeCases(f)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	return f, nil
}

func (o *object) decodeCases(f *CaseFile) {
	f.Environment = o.decodeEnvironment(o.of("environment", kindMapping))
	lookup := o.lookup
	o.lookup = func(name string) (string, bool) {
		if value, ok := f.Environment[name]; ok {
			return value, true
		}
		return lookup(name)
	}
	lines := make(map[string]int)
	for _, n := range o.list("cases") {
		c := o.decodeCase(n)
		if line, twice := lines[c.Name]; twice && c.Name != "" {
			o.problem(n.pos, "two cases are called %q; the first is on line %d", c.Name, line)
		}
		lines[c.Name] = n.pos.Line
		f.Cases = append(f.Cases, c)
	}
	if n := o.values["cases"]; len(f.Cases) == 0 && (n == nil || n.kind == kindSequence) {
		o.problem(o.pos, "the file has no cases, so nothing is tested; write at least one under `cases`")
	}
}

// decodeEnvironment reads values for the variables of the agents file.
func (d *decoder) decodeEnvironment(n *node) map[string]string {
	values := make(map[string]string)
	if n == nil {
		return values
	}
	for _, e := range n.entries {
		switch {
		case !isVariable(e.key):
			d.problem(e.pos, "%q is no name of an environment variable", e.key)
		case e.value.kind != kindString:
			d.wrongType(e.value, e.key, kindString)
		case e.value.text == "":
			d.problem(e.value.pos, "%s is empty, which counts as not set; give it a value", e.key)
		}
		values[e.key] = e.value.text
	}
	return values
}

func (d *decoder) decodeCase(n *node) *Case {
	o := d.object(n, "a case", caseKeys)
	if n.kind == kindMapping {
		o.require("a case", "name", "tool", "expect")
	}
	c := &Case{
		Position: n.pos, Name: o.trimmed("name"), Tool: o.trimmed("tool"), Agent: o.trimmed("agent"),
		CallID: caseCallID, Arguments: o.decodeArguments(), Requester: o.decodeCaseRequester(),
		Channel: o.decodeCaseChannel(), Vars: d.decodeVars(o.of("vars", kindMapping)),
	}
	if id := o.trimmed("call_id"); id != "" {
		c.CallID = id
	}
	if n := o.values["expect"]; n != nil {
		c.Expect = d.decodeExpectation(n)
	}
	return c
}

// trimmed returns a text without the spaces around it.
func (o *object) trimmed(key string) string {
	if n := o.of(key, kindString); n != nil {
		return strings.TrimSpace(n.text)
	}
	return ""
}

// decodeArguments returns the arguments as JSON: an empty object when there are none.
func (o *object) decodeArguments() json.RawMessage {
	n := o.of("arguments", kindMapping)
	if n == nil {
		return json.RawMessage("{}")
	}
	var b bytes.Buffer
	o.writeJSON(&b, n, "arguments")
	return b.Bytes()
}

// decodeCaseRequester reads who asks: an id, or a mapping.
func (o *object) decodeCaseRequester() CaseRequester {
	who := CaseRequester{ID: caseRequester}
	n := o.values["requester"]
	switch {
	case n == nil:
		return who
	case n.kind == kindString:
		who.ID = o.slackID(n, "requester", "UW", "U0123456789")
		return who
	}
	part := o.object(n, "requester", caseRequesterKeys)
	if at := part.of("id", kindString); at != nil {
		who.ID = o.slackID(at, "requester", "UW", "U0123456789")
	}
	who.Name, who.Groups = part.trimmed("name"), part.ids("groups", "S", "S0123456789")
	return who
}

// decodeCaseChannel reads where it is asked: an id, or a mapping.
func (o *object) decodeCaseChannel() CaseChannel {
	where := CaseChannel{ID: caseChannel}
	n := o.values["channel"]
	switch {
	case n == nil:
		return where
	case n.kind == kindString:
		where.ID = o.slackID(n, "channel", "CGD", "C0123456789")
	default:
		part := o.object(n, "channel", caseChannelKeys)
		if at := part.of("id", kindString); at != nil {
			where.ID = o.slackID(at, "channel", "CGD", "C0123456789")
		}
		where.Name, where.Direct = part.trimmed("name"), part.flag("direct")
		where.Private, where.Shared = part.flag("private"), part.flag("shared")
	}
	where.Direct = where.Direct || strings.HasPrefix(where.ID, "D")
	return where
}

// slackID returns the id, after noting one that Slack does not have.
func (d *decoder) slackID(n *node, what, letters, example string) string {
	if !isSlackID(n.text, letters) {
		d.problem(n.pos, "%s is named by its Slack id, such as %s, not %q", what, example, n.text)
	}
	return n.text
}
