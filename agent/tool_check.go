package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"countersign/agent/internal/strictjson"
)

// noParameters is the schema of a tool that takes nothing.
const noParameters = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`

var (
	errToolName     = errors.New("the name must be 1 to 64 letters, digits, underscores and hyphens")
	errNoInvoke     = errors.New("it has no Invoke function")
	errNoValidate   = errors.New("a tool with Parameters needs Validate: nothing runs that is not valid")
	errSchema       = errors.New("its Parameters are not a JSON object")
	errNoParameters = errors.New("this tool takes no arguments; write {}")
	errValidator    = errors.New("the arguments could not be checked")
	errHosted       = errors.New(
		"a tool that the provider executes is made by NewHostedTool, from a description that is a JSON object")
	errHostedParts = errors.New("the provider executes it: it has no Parameters, Invoke, Preconditions, Fields, " +
		"Proposed, Secret or External")
	errHostedGate = errors.New(
		"the provider executes it without asking: it cannot have NeedsApproval, OnApproval or Audit")
	errHostedSecrets = errors.New("its secrets are not a JSON object")
	errHostedLabel   = errors.New("its description must say type mcp, and server_label must be the tool's name")
	errTextOnly      = errors.New(`this tool takes text: {"input": "…"} and nothing else`)
	errKind          = fmt.Errorf("its Kind is not UTF-8, or longer than %d bytes", maxKind)
	errWire          = errors.New("its Wire is unknown")
	errCustom        = errors.New("a tool that takes text or the provider's own form has no Fields")
	errNoAgentUse    = errors.New("its Use is that of an agent, and it is none")
	errTimeout       = errors.New("only a tool with an Invoke function has a Timeout; see Use.MaxTurns for an agent")
	errInvokes       = errors.New("a tool is External or has an Invoke function, not both")
)

// maxKind bounds the word for the kind of a tool.
const maxKind = 64

func (t *Tool) kind() ToolKind {
	if t.Kind == "" {
		return KindFunction
	}
	return t.Kind
}

// repeatable reports whether a call that was cleared for the tool as it was may be looked at as a new one. An agent
// begins without an effect, and of the call of a hosted server the journal knows whether the provider was told to carry
// it out: it is asked right before that.
func (t *Tool) repeatable() bool {
	return t.Idempotent || t.agent != nil || t.Wire == WireHosted
}

// check reports what is set up wrongly.
func (t *Tool) check() error {
	switch {
	case t.err != nil:
		return t.err
	case !validToolName(t.Name):
		return errToolName
	case !utf8.ValidString(string(t.Kind)) || len(t.Kind) > maxKind:
		return errKind
	case t.Timeout < 0:
		return fmt.Errorf("the Timeout %v is negative", t.Timeout)
	case t.Timeout > 0 && t.Invoke == nil:
		return errTimeout
	case t.agent == nil && (t.Use.MaxTurns != 0 || t.Use.Input != nil):
		return errNoAgentUse
	case t.Wire == WireHosted || t.hosted != nil:
		return t.checkHosted()
	case t.External && t.Invoke != nil:
		return errInvokes
	case !t.External && t.Invoke == nil && t.agent == nil && t.handoff == nil:
		return errNoInvoke
	}
	if err := t.checkForm(); err != nil {
		return err
	}
	return t.checkGuardrails()
}

// checkForm looks at how the tool's calls are written.
func (t *Tool) checkForm() error {
	switch t.Wire {
	case WireFunction:
	case WireCustom, WireShell, WireApplyPatch:
		if t.fills() {
			return errCustom
		}
	default:
		return errWire
	}
	if len(t.Parameters) > 0 {
		switch {
		case !json.Valid(t.Parameters) || firstByte(t.Parameters) != '{':
			return errSchema
		case t.Validate == nil:
			return errNoValidate
		}
	}
	if err := t.checkSecret(); err != nil {
		return err
	}
	return t.checkFields()
}

// checkHosted looks at a tool that the provider executes.
func (t *Tool) checkHosted() error {
	var hosted struct {
		Type  string `json:"type"`
		Label string `json:"server_label"`
	}
	switch {
	case t.Wire != WireHosted || firstByte(t.hosted) != '{' || json.Unmarshal(t.hosted, &hosted) != nil:
		return errHosted
	case len(t.Parameters) > 0 || t.Invoke != nil || t.Preconditions != nil || t.fills() ||
		t.External || t.agent != nil:
		return errHostedParts
	case len(t.Secret) > 0:
		return errHostedParts
	case len(t.hostedSecrets) > 0 && (!json.Valid(t.hostedSecrets) || firstByte(t.hostedSecrets) != '{'):
		return errHostedSecrets
	case t.Kind == KindHostedMCP && (hosted.Type != "mcp" || hosted.Label != t.Name):
		return errHostedLabel
	case t.Kind != KindHostedMCP && (t.NeedsApproval != nil || t.OnApproval != nil || t.Audit):
		return errHostedGate
	}
	return t.checkGuardrails()
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
	d := ToolDefinition{Name: t.Name, Description: t.Description, Wire: t.Wire}
	switch {
	case t.Wire == WireHosted:
		d.Hosted = withMembers(t.hosted, t.hostedSecrets)
	case t.Wire != WireFunction:
	case len(t.Parameters) == 0:
		d.Parameters = json.RawMessage(noParameters)
	case t.fills():
		d.Parameters = withoutProperties(t.Parameters, t.Fields, t.Proposed)
	default:
		d.Parameters = t.Parameters
	}
	return d
}

// validate checks canonical arguments. A validator that panics refuses them.
func (t *Tool) validate(arguments json.RawMessage) (err error) {
	if t.Wire == WireCustom {
		var custom struct {
			Input *string `json:"input"`
		}
		dec := json.NewDecoder(bytes.NewReader(arguments))
		dec.DisallowUnknownFields()
		if dec.Decode(&custom) != nil || custom.Input == nil {
			return errTextOnly
		}
	}
	if t.Validate == nil {
		if len(t.Parameters) == 0 && t.Wire == WireFunction && string(arguments) != "{}" {
			return errNoParameters
		}
		return nil
	}
	defer func() {
		if recover() != nil {
			err = errValidator
		}
	}()
	return t.Validate(slices.Clone(arguments))
}

// validateCall checks the arguments of a call as far as they are there: those that a person will be asked for may still
// be missing.
func (t *Tool) validateCall(c *call) error {
	begins := c.State == callNew || c.State == callCleared && t.repeatable() || c.Question == FieldsRequired
	if t.fills() && !c.Given && begins {
		return t.validateProposal(c.arguments())
	}
	return t.validate(c.arguments())
}

// withMembers returns the object with the members of another one behind its own.
func withMembers(object, more json.RawMessage) json.RawMessage {
	if len(more) == 0 {
		return object
	}
	whole := strictjson.Reopen(bytes.Clone(bytes.TrimSpace(object)))
	if err := whole.Members(more); err != nil {
		return object
	}
	return whole.End()
}
