package openaidev

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
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

// Output is the output of a tool call, with the call. That of a shell call is its JSON; that of an MCP call is what the
// tool returned, or "denied" and the reason.
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

// newTurn reads the conversation. Consecutive calls are one round.
func newTurn(b *body, servers []MCPServer) *Turn {
	t := &Turn{Instructions: b.Instructions}
	for _, tl := range b.Tools {
		t.Tools = append(t.Tools, cmp.Or(tl.Name, tl.ServerLabel, tl.Type))
	}
	calls := make(map[string]Output)
	servedBy := make(map[string]string)
	first, calling := true, false
	for _, it := range b.items {
		_, output := callOf[it.Type]
		switch {
		case isCall(it.Type):
			if !calling {
				t.Round++
			}
			id := cmp.Or(it.CallID, it.ID)
			calls[id] = Output{CallID: id, Name: it.tool(), Arguments: it.called(), Round: t.Round}
			servedBy[id] = it.ServerLabel
		case output:
			o := calls[it.CallID]
			o.Text = it.outputText()
			t.Outputs = append(t.Outputs, o)
		case it.Type == typeMCPResponse:
			o := calls[it.ApprovalRequestID]
			if *it.Approve {
				made := mcpToolOf(servers, servedBy[o.CallID], o.Name)
				o.Text = made.Output + made.Error
			} else {
				o.Text = strings.TrimSpace("denied " + it.Reason)
			}
			t.Outputs = append(t.Outputs, o)
			output = true
		case it.Type == typeMessage && it.Role == "user":
			if !first {
				t.Earlier = append(t.Earlier, t.User)
			}
			first = false
			t.Before = append(t.Before, t.Outputs...)
			t.User, t.Outputs, t.Round = it.text(), nil, 0
		}
		calling = isCall(it.Type) || calling && !output && it.Type != typeMessage
	}
	return t
}

// mcpToolOf is the tool of an MCP server; one that returns nothing where the server has none of that name.
func mcpToolOf(servers []MCPServer, label, name string) MCPTool {
	for _, s := range servers {
		for _, t := range s.Tools {
			if s.Label == label && t.Name == name {
				return t
			}
		}
	}
	return MCPTool{}
}

// Missing returns the first of the names that no tool on offer has, or "".
func (t *Turn) Missing(names ...string) string {
	for _, name := range names {
		if !slices.Contains(t.Tools, name) {
			return name
		}
	}
	return ""
}
