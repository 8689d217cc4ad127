package agent

import "context"

// Hooks are called when something happens in a run, also inside agents used as tools, possibly from several goroutines
// at once. Each may be nil. They observe: what they return to, change or panic with has no effect on the run. They must
// not modify what they are given.
type Hooks struct {
	// AgentStart is called before an agent's first model call of a conversation, AgentEnd when its answer is accepted.
	AgentStart func(ctx context.Context, a *Agent)
	AgentEnd   func(ctx context.Context, a *Agent, output string)
	// ModelStart and ModelEnd surround a model call that succeeds; ModelEnd is not called for one that fails.
	ModelStart func(ctx context.Context, a *Agent, req *ModelRequest)
	ModelEnd   func(ctx context.Context, a *Agent, resp *ModelResponse)
	// ToolStart and ToolEnd surround real execution only: not rejections, and not the wait for people. An agent used as
	// a tool starts once and ends once, however often it waited.
	ToolStart func(ctx context.Context, call *ToolCall)
	ToolEnd   func(ctx context.Context, call *ToolCall, out ToolOutput)
	// Handoff is called when another agent has taken over.
	Handoff func(ctx context.Context, from, to *Agent)
}
