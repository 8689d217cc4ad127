package policycheck

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// Fate is what becomes of a call under an agents file.
type Fate string

// The fates of calls.
const (
	Asked      Fate = "asked"      // people are asked first
	Allowed    Fate = "allowed"    // it runs without asking
	Recorded   Fate = "recorded"   // it runs without asking and is recorded for review
	Impossible Fate = "impossible" // people must agree, and nobody can: it is refused
	Unusable   Fate = "unusable"   // its arguments do not fit the tool's schema: the model is told, nothing runs
	Gone       Fate = "gone"       // the agents file has no such tool
	Unknown    Fate = "unknown"    // only the MCP server can say whether people are asked
)

// Verdict is what an agents file says about one call. It holds no value of the call that is secret.
type Verdict struct {
	Fate Fate
	// Requirement is what the policy demands. It is set for what is asked, impossible or not known to be asked.
	Requirement approvals.Requirement
	// Why says why the fate is Impossible, Unusable, Gone or Unknown, or that a gate could not be evaluated.
	Why string
}

// Judge says what the catalog's agents file makes of a recorded call. What the directory said when it was asked about
// is not recorded, and not known. The request has its values: masks are judged as if they were some. The error is that
// of ctx.
func Judge(ctx context.Context, c *catalog.Catalog, r *approvals.Request) (Verdict, error) {
	return judge(ctx, c, r, approvals.Untold(allFacts))
}

// judge says what the catalog's agents file makes of the call that r is about, and of what is known about it. Its error
// is that of ctx.
func judge(
	ctx context.Context, c *catalog.Catalog, r *approvals.Request, known approvals.PolicyFacts,
) (Verdict, error) {
	cfg, err := c.Agent(r.Agent)
	if err != nil {
		return Verdict{Fate: Gone, Why: noAgent(c, r.Agent)}, nil
	}
	tool := find(cfg.Agent, &r.Tool)
	if tool == nil && len(cfg.Agent.Toolsets) == 0 {
		return Verdict{Fate: Gone, Why: noTool(cfg.Agent, r.Tool.Name)}, nil
	}
	v := Verdict{Fate: Unknown, Why: "it is a tool of an MCP server, which is not contacted"}
	if tool != nil {
		if v = gate(withFacts(ctx, known), tool, r); v.Fate != Asked {
			return v, ctx.Err()
		}
	}
	q, err := c.Requirement(ctx, r, known)
	switch {
	case ctx.Err() != nil:
		return Verdict{}, ctx.Err()
	case err != nil:
		return Verdict{Fate: Impossible, Why: sayable(r, err)}, nil
	case q.Impossible(r.Requester, r.Place):
		v.Fate = Impossible
		v.Why = fmt.Sprintf("policy %q needs %s, and too few people can decide", q.Policy, q.Describe())
	}
	v.Requirement = q
	return v, nil
}

// find returns the tool that a request is about, or nil: the agent has none of that name, or an MCP server has it.
func find(a *agent.Agent, t *approvals.ToolSnapshot) *agent.Tool {
	for i := range a.Tools {
		tool := &a.Tools[i]
		hosted := tool.Kind == agent.KindHostedMCP && slices.Contains(t.Binding, "server_label "+tool.Name)
		if tool.Name == t.Name && tool.Kind != agent.KindHostedMCP || hosted {
			return tool
		}
	}
	return nil
}

// gate says whether people are asked about the call at all.
func gate(ctx context.Context, tool *agent.Tool, r *approvals.Request) Verdict {
	if tool.Validate != nil && tool.Kind != agent.KindHostedMCP {
		if err := tool.Validate(r.Arguments); err != nil {
			return Verdict{Fate: Unusable, Why: sayable(r, err)}
		}
	}
	asks, why := tool.External, ""
	if tool.NeedsApproval != nil {
		says, err := tool.NeedsApproval(ctx, callOf(r, tool))
		if err != nil {
			says, why = true, sayable(r, err)+", so people are asked"
		}
		asks = asks || says
	}
	switch {
	case !asks:
		return Verdict{Fate: Allowed}
	case tool.Audit && !tool.External:
		return Verdict{Fate: Recorded, Why: why}
	}
	return Verdict{Fate: Asked, Why: why}
}

// sayable is the text of an error about the arguments of r, which may quote them, unless some are secret.
func sayable(r *approvals.Request, err error) string {
	if len(r.Withheld()) > 0 {
		return "an error that is not told because it may quote a secret argument"
	}
	return err.Error()
}

func noAgent(c *catalog.Catalog, name string) string {
	names := make([]string, 0, len(c.File.Agents))
	for _, a := range c.File.Agents {
		names = append(names, a.Name)
	}
	return missing("the agents file has no agent", name, names)
}

func noTool(a *agent.Agent, name string) string {
	names := make([]string, 0, len(a.Tools))
	for i := range a.Tools {
		names = append(names, a.Tools[i].Name)
	}
	return missing("agent "+a.Name+" has no tool", name, names)
}

// missing says that nothing is called so, and what may have been meant.
func missing(what, name string, known []string) string {
	text := fmt.Sprintf("%s called %q", what, name)
	if near := agentsfile.Nearest(name, known); near != "" {
		return text + fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) == 0 {
		return text
	}
	return text + "; it has " + strings.Join(known, ", ")
}

// callID is the provider's id of the call, the last part of the id of its interruption.
func callID(interruption string) string {
	last := interruption[strings.LastIndexByte(interruption, '/')+1:]
	if id, err := url.PathUnescape(last); err == nil {
		return id
	}
	return last
}
