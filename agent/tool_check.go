package agent

import (
	"encoding/json"
	"errors"
	"fmt"
)

// noParameters is the schema of a tool that takes nothing.
const noParameters = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`

var (
	errToolName     = errors.New("the name must be 1 to 64 letters, digits, underscores and hyphens")
	errNoInvoke     = errors.New("it has no Invoke function")
	errNoValidate   = errors.New("a tool with NeedsApproval and Parameters needs Validate: what people are asked about must be valid")
	errSchema       = errors.New("its Parameters are not a JSON object")
	errNoParameters = errors.New("this tool takes no arguments; write {}")
	errValidator    = errors.New("the arguments could not be checked")
)

func (t *Tool) kind() ToolKind {
	if t.Kind == "" {
		return KindFunction
	}
	return t.Kind
}

// check reports what is set up wrongly.
func (t *Tool) check() error {
	switch {
	case t.err != nil:
		return t.err
	case !validToolName(t.Name):
		return errToolName
	case t.Invoke == nil:
		return errNoInvoke
	case t.Timeout < 0:
		return fmt.Errorf("the Timeout %v is negative", t.Timeout)
	case len(t.Parameters) == 0:
		return nil
	case !json.Valid(t.Parameters) || firstByte(t.Parameters) != '{':
		return errSchema
	case t.NeedsApproval != nil && t.Validate == nil:
		return errNoValidate
	}
	return nil
}

func validToolName(name string) bool {
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

func firstByte(b []byte) byte {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// definition returns what the model is told about the tool.
func (t *Tool) definition() ToolDefinition {
	d := ToolDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	if len(d.Parameters) == 0 {
		d.Parameters = json.RawMessage(noParameters)
	}
	return d
}

// validate checks canonical arguments. A validator that panics refuses them.
func (t *Tool) validate(arguments json.RawMessage) (err error) {
	if t.Validate == nil {
		if len(t.Parameters) == 0 && string(arguments) != "{}" {
			return errNoParameters
		}
		return nil
	}
	defer func() {
		if recover() != nil {
			err = errValidator
		}
	}()
	return t.Validate(append(json.RawMessage(nil), arguments...))
}
