package agent

import "context"

// Toolset is a source of tools that is asked anew before each model call and before open calls go on, for instance an
// MCP server whose tools may change. Decisions are bound to a tool's definition, so a tool that changed in between is
// never run on an answer that was given about another.
//
// Implementations are safe for concurrent use. An error ends the run before anything happens; the run can be resumed.
type Toolset interface {
	// Name identifies the toolset in errors and logs.
	Name() string
	// Tools returns the tools that an agent may call now. The caller does not modify them.
	Tools(ctx context.Context) ([]Tool, error)
}
