package openaidev

import (
	"encoding/json"
)

// Turn is a conversation seen from the answer that is due.
type Turn struct {
	Instructions string
	User         string   // the last message of the user
	Earlier      []string // the user's messages before it, oldest first
	Match        []string // what the rule's User expression matched in User, and its groups
	Round        int      // rounds of tool calls since that message
	Outputs      []Output // the outputs since that message, in order
	Tools        []string // names of the tools on offer
	Before       []Output // the outputs before that message, oldest first
}

// Output is the output of a tool call, with the call.
type Output struct {
	CallID    string
	Name      string
	Arguments string
	Text      string
	Round     int // the round of calls, from 1, since the user's last message
}

// Newest returns the outputs of the last round.
func (t *Turn) Newest() []Output {
	for i, o := range t.Outputs {
		if o.Round == t.Round {
			return t.Outputs[i:]
		}
	}
	return nil
}

// Output returns the last output, or a zero one.
func (t *Turn) Output() Output {
	if len(t.Outputs) == 0 {
		return Output{}
	}
	return t.Outputs[len(t.Outputs)-1]
}

// Field returns a member of the output when the output is a JSON object, as text; else "".
func (o Output) Field(name string) string { return member(o.Text, name) }

// Argument returns an argument of the call as text, or "".
func (o Output) Argument(name string) string { return member(o.Arguments, name) }

// IsObject reports whether the output is a JSON object.
func (o Output) IsObject() bool {
	var m map[string]json.RawMessage
	return json.Unmarshal([]byte(o.Text), &m) == nil && m != nil
}

func member(object, name string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &m) != nil || m[name] == nil {
		return ""
	}
	var s string
	if json.Unmarshal(m[name], &s) == nil {
		return s
	}
	return string(m[name])
}

// newTurn reads the conversation. Consecutive function calls are one round.
func newTurn(b *body) *Turn {
	t := &Turn{Instructions: b.Instructions}
	for _, tl := range b.Tools {
		t.Tools = append(t.Tools, tl.Name)
	}
	calls := make(map[string]Output)
	first, calling := true, false
	for _, it := range b.items {
		switch {
		case it.Type == typeCall:
			if !calling {
				t.Round++
			}
			calls[it.CallID] = Output{CallID: it.CallID, Name: it.Name, Arguments: *it.Arguments, Round: t.Round}
		case it.Type == typeCallOutput:
			o := calls[it.CallID]
			o.Text = it.outputText()
			t.Outputs = append(t.Outputs, o)
		case it.Type == typeMessage && it.Role == "user":
			if !first {
				t.Earlier = append(t.Earlier, t.User)
			}
			first = false
			t.Before = append(t.Before, t.Outputs...)
			t.User, t.Outputs, t.Round = it.text(), nil, 0
		}
		calling = it.Type == typeCall || calling && it.Type != typeCallOutput && it.Type != typeMessage
	}
	return t
}
