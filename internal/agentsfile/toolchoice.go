package agentsfile

import (
	"slices"
	"strings"
)

// toolChoiceWords are the choices that are no names. A tool with one of these names cannot be chosen.
var toolChoiceWords = []string{"auto", "required", "none"}

// handoffPrefix begins the names of the tools that hand the conversation over.
const handoffPrefix = "transfer_to_"

// decodeToolChoice reads tool_choice and keep_tool_choice. The agent's tools and handoffs have been read.
func (o *object) decodeToolChoice(a *Agent) {
	a.Settings.ToolChoice, a.KeepToolChoice = o.literal("tool_choice"), o.flag("keep_tool_choice")
	choice, n := a.Settings.ToolChoice, o.values["tool_choice"]
	forced := choice != "" && choice != "auto" && choice != "none"
	switch {
	case n != nil && n.kind != kindString:
	case n != nil && choice == "":
		o.problem(n.pos, "tool_choice is auto, required, none, or the name of a tool")
	case forced && len(a.Tools) == 0 && len(a.Handoffs) == 0:
		o.problem(n.pos, "tool_choice %q forces a call, and agent %s has no tools", choice, a.Name)
	case forced && choice != "required" && !a.offers(choice):
		o.unknownChoice(a, n)
	case a.KeepToolChoice && !forced:
		o.problem(o.values["keep_tool_choice"].pos,
			"keep_tool_choice has no meaning without a tool_choice that forces calls: required, or a tool's name")
	}
}

func (d *decoder) unknownChoice(a *Agent, n *node) {
	names := append(a.toolNames(), toolChoiceWords...)
	if near := Nearest(n.text, names); near != "" {
		d.problem(n.pos, "tool_choice: agent %s has no tool called %q; did you mean %q?", a.Name, n.text, near)
		return
	}
	d.problem(n.pos, "tool_choice: agent %s has no tool called %q; known are %s",
		a.Name, n.text, strings.Join(names, ", "))
}

// toolNames are the names that the file tells: all but those of the tools of MCP servers.
func (a *Agent) toolNames() (names []string) {
	for _, t := range a.Tools {
		if t.Type != MCP && t.Name != "" {
			names = append(names, t.Name)
		}
	}
	for _, h := range a.Handoffs {
		names = append(names, handoffPrefix+h.Name)
	}
	return names
}

// Offers reports whether the agent has a tool of the name, or may have it: what an MCP server offers, also to the
// provider of the model, is only known while the agent runs.
func (a *Agent) Offers(name string) bool {
	return a.offers(name) || slices.ContainsFunc(a.Tools, func(t *Tool) bool { return t.Type == HostedMCP })
}

// offers reports whether the agent has a tool of the name, or may have it: what an MCP server offers is only known
// while the agent runs.
func (a *Agent) offers(name string) bool {
	return slices.Contains(a.toolNames(), name) || slices.ContainsFunc(a.Tools, func(t *Tool) bool {
		own, ok := strings.CutPrefix(name, t.Prefix)
		return ok && t.Type == MCP && !slices.Contains(t.Tools.Blocked, own) &&
			(len(t.Tools.Allowed) == 0 || slices.Contains(t.Tools.Allowed, own))
	})
}
