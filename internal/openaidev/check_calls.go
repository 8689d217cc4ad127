package openaidev

import (
	"bytes"
	"encoding/json"
	"slices"
)

// words is what errors call the types of calls.
var words = map[string]string{
	typeCall: "function call", typeCustomCall: "custom tool call", typeShellCall: "shell call",
	typePatchCall: "apply patch call", typeMCPRequest: "MCP approval request",
}

// openCall is a call on the way through the items.
type openCall struct {
	kind     string
	answered bool
}

// pairs matches calls with their outputs.
type pairs struct {
	b     *body
	calls map[string]*openCall
	order []string
}

// checkCalls makes sure that calls and outputs come in pairs of one kind, the call first. That an approval request may
// not stay without its response is stricter than what is known of OpenAI.
func checkCalls(b *body) *apiError {
	p := pairs{b: b, calls: make(map[string]*openCall)}
	for i, it := range b.items {
		var err *apiError
		switch _, output := callOf[it.Type]; {
		case output:
			err = p.output(i, it)
		case it.Type == typeMCPResponse:
			err = p.response(i, it)
		case isCall(it.Type):
			err = p.call(i, it)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range p.order {
		switch c := p.calls[id]; {
		case c.answered:
		case c.kind == typeMCPRequest:
			return badRequest("input", "", "No response found for MCP approval request %s.", id)
		default:
			return badRequest("input", "", "No tool output found for %s %s.", words[c.kind], id)
		}
	}
	return nil
}

func (p *pairs) call(i int, it item) *apiError {
	at, id := p.b.at(i), it.CallID
	if it.Type == typeMCPRequest {
		id = it.ID
	}
	if id == "" || !wellFormed(it) {
		return badRequest(at, "missing_required_parameter",
			"Missing required parameter in %s '%s'.", words[it.Type], at)
	}
	if p.b.chat == nil && it.Type != typeMCPRequest {
		if err := checkName(at, it); err != nil {
			return err
		}
	}
	if p.calls[id] != nil {
		return badRequest("input", "", "Duplicate %s with call_id %s.", words[it.Type], id)
	}
	p.calls[id] = &openCall{kind: it.Type}
	p.order = append(p.order, id)
	return nil
}

// checkName refuses a call whose id is too long, or whose name no function can have.
func checkName(at string, it item) *apiError {
	switch {
	case len(it.CallID) > maxCallID:
		return tooLong("string", at+".call_id", maxCallID, len(it.CallID))
	case it.Type == typeCall && !toolName.MatchString(it.Name):
		return badRequest(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. "+
			"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	}
	return nil
}

// wellFormed reports whether a call has what its kind needs.
func wellFormed(it item) bool {
	switch it.Type {
	case typeCustomCall:
		return it.Name != "" && it.Input != nil
	case typeShellCall:
		var action struct {
			Commands []string `json:"commands"`
		}
		return json.Unmarshal(it.Action, &action) == nil && action.Commands != nil
	case typePatchCall:
		var op struct {
			Type, Path string
			Diff       *string
		}
		kinds := []string{"create_file", "update_file", "delete_file"}
		return it.Status != "" && json.Unmarshal(it.Operation, &op) == nil && op.Path != "" &&
			slices.Contains(kinds, op.Type) && (op.Diff != nil || op.Type == "delete_file")
	case typeMCPRequest:
		return it.Name != "" && it.Arguments != nil && it.ServerLabel != ""
	}
	return it.Name != "" && it.Arguments != nil
}

func (p *pairs) output(i int, it item) *apiError {
	what := words[callOf[it.Type]]
	c := p.calls[it.CallID]
	if c == nil || c.kind != callOf[it.Type] {
		return badRequest("input", "", "No tool call found for %s output with call_id %s.", what, it.CallID)
	}
	if c.answered {
		return badRequest("input", "", "Duplicate %s output with call_id %s.", what, it.CallID)
	}
	c.answered = true
	return checkOutput(p.b.at(i), it)
}

func (p *pairs) response(i int, it item) *apiError {
	c := p.calls[it.ApprovalRequestID]
	if c == nil || c.kind != typeMCPRequest {
		return badRequest("input", "", "No MCP approval request found with id %s.", it.ApprovalRequestID)
	}
	if c.answered {
		return badRequest("input", "", "Duplicate response to MCP approval request %s.", it.ApprovalRequestID)
	}
	if it.Approve == nil {
		return badRequest(p.b.at(i)+".approve", "missing_required_parameter",
			"Missing required parameter: '%s.approve'.", p.b.at(i))
	}
	c.answered = true
	return nil
}

// shellOutput is what one command of a shell call came to.
type shellOutput struct {
	Stdout, Stderr *string
	Outcome        *struct {
		Type     string `json:"type"`
		ExitCode *int   `json:"exit_code"`
	}
}

func checkOutput(at string, it item) *apiError {
	switch it.Type {
	case typeShellOutput:
		var outputs []shellOutput
		if json.Unmarshal(it.Output, &outputs) != nil || outputs == nil {
			return badRequest(at+".output", "invalid_type",
				"Invalid type for '%s.output': expected an array of objects.", at)
		}
		for _, o := range outputs {
			if o.Stdout == nil || o.Stderr == nil || o.Outcome == nil ||
				o.Outcome.Type != "timeout" && (o.Outcome.Type != "exit" || o.Outcome.ExitCode == nil) {
				return badRequest(at+".output", "missing_required_parameter",
					"Missing required parameter in '%s.output': stdout, stderr and outcome are needed.", at)
			}
		}
		return nil
	case typePatchOutput:
		if it.Status != "completed" && it.Status != "failed" {
			return badRequest(at+".status", "invalid_value",
				"Invalid value: '%s'. Supported values are: 'completed' and 'failed'.", it.Status)
		}
		var text *string
		if len(it.Output) > 0 && json.Unmarshal(it.Output, &text) != nil {
			return badRequest(at+".output", "invalid_type", "Invalid type for '%s.output': expected a string.", at)
		}
		return nil
	}
	if len(it.Output) == 0 || !bytes.ContainsRune([]byte(`"[`), rune(it.Output[0])) {
		return badRequest(at+".output", "invalid_type",
			"Invalid type for '%s.output': expected a string or an array.", at)
	}
	return nil
}
