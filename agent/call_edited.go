package agent

import (
	"bytes"
	"encoding/json"

	"countersign/agent/internal/strictjson"
)

// withNote returns the output as the model reads it: when people changed what it wrote, it is told to what. tool is nil
// when it is gone.
func (c *call) withNote(tool *Tool, out ToolOutput) ToolOutput {
	if !c.edited(tool) {
		return out
	}
	return out.below(c.changeNote(tool))
}

// below returns the output as the model reads it below a note.
func (o ToolOutput) below(note string) ToolOutput {
	o.Text = note + o.Text
	if o.Native != nil {
		o.Native = nativeWithNote(note, o.Native)
	}
	return o
}

// changeNote tells the model what people made of its arguments. What they put into secret ones is for the tool alone;
// when it is gone, nobody knows which these are.
func (c *call) changeNote(tool *Tool) string {
	switch {
	case tool == nil:
		return "A person changed the arguments of this call.\n"
	case len(tool.Secret) == 0:
		return "A person changed the arguments of this call to " + string(c.Arguments) + ".\n"
	}
	return "A person changed the arguments of this call. Without the secret ones they are now " +
		string(without(c.Arguments, tool.Secret)) + ".\n"
}

// edited reports whether people changed what the model wrote. What it was not to write, and a person filled in, does
// not count.
func (c *call) edited(tool *Tool) bool {
	arguments := c.Arguments
	if arguments == nil {
		return false
	}
	if c.Given && tool != nil {
		arguments = without(arguments, tool.Fields)
	}
	return !bytes.Equal(arguments, c.written)
}

// without returns a canonical object without some of its members.
func without(object json.RawMessage, names []string) json.RawMessage {
	kept, err := strictjson.Without(object, names...)
	if err != nil {
		return object
	}
	return kept
}

// nativeWithNote puts the note in front of what the first command of a shell_call wrote to its standard error. Without
// commands it returns nil: the text says it.
func nativeWithNote(note string, native json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(native, &list) != nil || len(list) == 0 {
		return nil
	}
	var first struct {
		Stderr string `json:"stderr"`
	}
	if json.Unmarshal(list[0], &first) != nil {
		return nil
	}
	changed, err := strictjson.Set(list[0], "stderr", strictjson.AppendQuoted(nil, note+first.Stderr))
	if err != nil {
		return nil
	}
	list[0] = changed
	whole, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	canonical, err := strictjson.Canonical(whole)
	if err != nil {
		return nil
	}
	return canonical
}
