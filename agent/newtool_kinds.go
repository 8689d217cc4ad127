package agent

import (
	"bytes"
	"context"
	"encoding/json"
)

// NewExternalTool returns a tool whose calls somebody outside carries out: each call interrupts with ExternalResult,
// and what RunState.Approve is given as Output is what the model reads. Schema and validation come from the type In,
// as with NewTool.
func NewExternalTool[In any](name, description string) Tool {
	t := NewTool(name, description, func(context.Context, In) (string, error) { return "", nil })
	t.Kind, t.External, t.Invoke = KindExternal, true, nil
	return t
}

// NewHostedTool returns a tool that the provider executes: one of its own, such as KindWebSearch, or with
// KindHostedMCP an MCP server that it talks to, whose server_label is then the name. The description is the
// provider's, a JSON object sent as written; it is part of the tool's definition, and stored and shown. Secrets,
// which may be nil, are further members of it that are only sent, for instance headers with credentials; their names
// belong in Tool.Attributes.
//
// Such a tool has no Parameters and no Invoke. A provider may ask for approval of a hosted MCP server's calls: these
// are interruptions like any other.
func NewHostedTool(kind ToolKind, name string, description, secrets json.RawMessage) Tool {
	return Tool{
		Name: name, Kind: kind, Wire: WireHosted,
		hosted: bytes.Clone(description), hostedSecrets: bytes.Clone(secrets),
	}
}

// Hosted returns the description that NewHostedTool was given, without the secrets; nil for other tools.
func (t *Tool) Hosted() json.RawMessage { return bytes.Clone(t.hosted) }
