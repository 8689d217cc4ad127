package policycheck

import (
	"context"
	"errors"
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

// allFacts are the facts that expressions can depend on.
var allFacts = []approvals.Fact{
	approvals.FactRequesterName, approvals.FactRequesterGroups, approvals.FactChannel,
}

// factsOf is what a case says about who asks and where. A requester without a name has none that can be told.
func factsOf(c *agentsfile.Case) approvals.PolicyFacts {
	known := approvals.PolicyFacts{
		Told: map[approvals.Fact]error{}, RequesterName: c.Requester.Name, RequesterGroups: c.Requester.Groups,
		Channel: approvals.Channel{
			Name: c.Channel.Name, Private: c.Channel.Private || c.Channel.Direct, Shared: c.Channel.Shared,
		},
	}
	for _, f := range allFacts {
		known.Told[f] = nil
	}
	if c.Requester.Name == "" {
		known.Told[approvals.FactRequesterName] = errUnnamed
	}
	return known
}

var errUnnamed = errors.New("the case does not say the requester's name")

// withFacts returns a context in which gates know the same as policies.
func withFacts(ctx context.Context, known approvals.PolicyFacts) context.Context {
	return approvals.WithFacts(ctx, func(context.Context, *approvals.Run, []approvals.Fact) approvals.PolicyFacts {
		return known
	})
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
