package policycheck

import (
	"net/url"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// workspace is where cases are asked. No expression can see it.
const workspace approvals.WorkspaceID = "T0CASES"

// subjectOf is the request that a case stands for.
func subjectOf(c *agentsfile.Case, agentName string) *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: workspace, Kind: agent.Confirm, Agent: agentName, Interruption: url.PathEscape(c.CallID),
			Requester: approvals.NewUserID(workspace, c.Requester.ID),
			Place:     approvals.Place{Surface: "slack", Channel: c.Channel.ID, Direct: c.Channel.Direct},
			Tool:      approvals.ToolSnapshot{Name: c.Tool},
		},
		RequestContent: approvals.RequestContent{Arguments: c.Arguments},
	}
}

// callOf is the call that a request is about, as a gate sees it.
func callOf(r *approvals.Request, tool *agent.Tool) *agent.ToolCall {
	run := &approvals.Run{
		Workspace: r.Workspace, ID: r.Run, Place: r.Place, Agent: r.Agent, Requester: r.Requester,
	}
	return &agent.ToolCall{
		ID: callID(r.Interruption), Tool: r.Tool.Name, Kind: tool.Kind, Arguments: r.Arguments, Agent: r.Agent,
		Path: r.Path, Run: &agent.RunContext{Value: run},
	}
}
