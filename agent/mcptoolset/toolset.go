package mcptoolset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"countersign/agent"
	"countersign/agent/internal/oneline"
)

// MaxTools is how many tools one toolset may have.
const MaxTools = 256

// Config says what one agent may use of a server, and what it has to ask for.
type Config struct {
	// Server is the connection. Several toolsets may share it; whoever made it closes it.
	Server *Server

	// AllowedTools are the names, as the server spells them, of the tools that are offered. Empty: all.
	AllowedTools []string
	// BlockedTools are names of tools that are not offered.
	BlockedTools []string
	// ToolPrefix is put before the names under which models call the tools: letters, digits, underscores and hyphens.
	// Names with other characters, or longer than 64, are mapped; which tool is meant is part of its definition.
	ToolPrefix string

	// RequireApproval says which calls people decide. The zero value asks for all but the tools that change nothing of
	// a server that is trusted.
	RequireApproval Policy
	// NeedsApproval, if set, decides instead of RequireApproval. It is asked as [agent.Tool].NeedsApproval is.
	NeedsApproval func(ctx context.Context, call *agent.ToolCall, tool ServerTool) (bool, error)
}

// ServerTool is a tool as its server describes it.
type ServerTool struct {
	Server      string // the server's label
	Name        string // as the server spells it
	Trusted     bool   // the operator believes the annotations
	Annotations Annotations
}

// readOnly reports whether the tool changes nothing, as far as that is believed.
func (t ServerTool) readOnly() bool { return t.Trusted && t.Annotations.readOnly() }

// Toolset is an [agent.Toolset] of the tools of a server.
type Toolset struct {
	Config

	mu   sync.Mutex
	told map[string]bool // names that were said to be missing
}

var _ agent.Toolset = (*Toolset)(nil)

// New checks the configuration and contacts nobody. Its error wraps [agent.ErrConfig] and names the field.
func New(cfg Config) (*Toolset, error) {
	if cfg.Server == nil {
		return nil, fmt.Errorf("%w: mcp tools: server is missing", agent.ErrConfig)
	}
	wrong := func(field, problem string) error {
		return fmt.Errorf("%w: tools of mcp server %q: %s %s", agent.ErrConfig, cfg.Server.Name(), field, problem)
	}
	for field, names := range map[string][]string{
		"allowed_tools": cfg.AllowedTools, "blocked_tools": cfg.BlockedTools,
	} {
		if slices.Contains(names, "") {
			return nil, wrong(field, "has an empty name")
		}
	}
	for _, name := range cfg.BlockedTools {
		if slices.Contains(cfg.AllowedTools, name) {
			return nil, wrong("blocked_tools", fmt.Sprintf("has %q, which is in allowed_tools too", name))
		}
	}
	switch {
	case strings.ContainsFunc(cfg.ToolPrefix, notNameRune) || len(cfg.ToolPrefix) > maxNameLen/2:
		return nil, wrong("tool_prefix",
			fmt.Sprintf("must be at most %d letters, digits, underscores and hyphens", maxNameLen/2))
	case cfg.NeedsApproval != nil && !cfg.RequireApproval.isZero():
		return nil, wrong("require_approval", "is there twice, as a policy and as a function")
	case cfg.RequireApproval.believes() && !cfg.Server.Trusted:
		return nil, wrong("require_approval", "never.read_only believes the server's own word; "+
			"mark the server as trusted, or list the tools in never.tool_names")
	}
	return &Toolset{Config: cfg, told: make(map[string]bool)}, nil
}

// Name is the server's label.
func (t *Toolset) Name() string { return t.Server.Name() }

// Tools connects to the server if need be and returns what it offers now. A server that says that it tells about
// changes is asked again after one, and every other server each time. An error says which server cannot be used and
// what to do; for a while after a failure, callers get it at once.
//
// Two tools with the same name, or whose names become the same for the model, are an error, and so are more than
// [MaxTools]. A tool that cannot be used is left out and logged.
func (t *Toolset) Tools(ctx context.Context) ([]agent.Tool, error) {
	l, err := t.Server.tools(ctx, func(l *listing) bool { return l.session.tells() })
	if err != nil {
		return nil, err
	}
	t.reportMissing(l)
	var tools []agent.Tool
	names := make(map[string]string)
	for _, tool := range l.tools {
		if len(t.AllowedTools) > 0 && !slices.Contains(t.AllowedTools, tool.name) ||
			slices.Contains(t.BlockedTools, tool.name) {
			continue
		}
		name := modelName(t.ToolPrefix, tool.name)
		if other, ok := names[name]; ok {
			return nil, fmt.Errorf(
				"mcp server %q: the tools %q and %q are both called %q by models; put one of them in blocked_tools",
				t.Name(), oneline.Of(other, 200), oneline.Of(tool.name, 200), name)
		}
		names[name] = tool.name
		tools = append(tools, t.tool(name, tool))
	}
	if len(tools) > MaxTools {
		return nil, fmt.Errorf("mcp server %q offers %d tools, more than %d; choose with allowed_tools",
			t.Name(), len(tools), MaxTools)
	}
	return tools, nil
}

// tool is what the runner gets to see.
func (t *Toolset) tool(name string, l *listed) agent.Tool {
	described := ServerTool{Server: t.Name(), Name: l.name, Trusted: t.Server.Trusted, Annotations: l.annotations}
	a := l.annotations
	return agent.Tool{
		Name: name, Description: l.description, Kind: agent.KindMCP,
		Parameters: json.RawMessage(l.schema), Validate: l.validate,
		Attributes:    slices.Concat(t.Server.id, l.binding()),
		NeedsApproval: t.gate(described),
		Idempotent:    described.readOnly() || described.Trusted && a.IdempotentHint.True(),
		Invoke: func(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
			return t.Server.invoke(ctx, l, call)
		},
	}
}

func (t *Toolset) gate(tool ServerTool) func(context.Context, *agent.ToolCall) (bool, error) {
	switch {
	case t.NeedsApproval != nil:
		return func(ctx context.Context, call *agent.ToolCall) (bool, error) { return t.NeedsApproval(ctx, call, tool) }
	case t.RequireApproval.asks(tool):
		return agent.AlwaysAsk
	}
	return nil
}

// reportMissing logs, once, the names in the configuration that the server does not have: they may be misspelled.
func (t *Toolset) reportMissing(l *listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range []struct {
		field string
		names []string
	}{
		{"allowed_tools", t.AllowedTools}, {"blocked_tools", t.BlockedTools},
		{"require_approval", t.RequireApproval.names()},
	} {
		for _, name := range list.names {
			if l.byName[name] == nil && !t.told[name] {
				t.told[name] = true
				t.Server.Logger.Warn("the configuration names a tool that the MCP server does not have",
					"tool", name, "field", list.field)
			}
		}
	}
}
