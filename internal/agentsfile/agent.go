package agentsfile

import (
	"cmp"

	"countersign/agent"
)

// The defaults of an agent, and how far a file may go.
const (
	defaultMaxTurns      = 20
	mostTurns            = 1000
	defaultHistoryTokens = 100_000
	leastHistoryTokens   = 1000
	mostTokens           = 10_000_000
)

// Agent is one agent of the file.
type Agent struct {
	Position
	Name          string
	Instructions  Text
	Model         Text
	API           string // responses or chat_completions
	MaxTurns      int
	HistoryTokens int
	// ProviderConversation has the model's provider keep the conversation.
	ProviderConversation bool
	Settings             agent.ModelSettings
	Tools                []*Tool
	Handoffs             []Reference // agents that the conversation can be handed over to
	// KeepToolChoice goes on forcing calls after the first one; Settings has the choice itself.
	KeepToolChoice  bool
	Guardrails      []*Guardrail
	StopOnFirstTool bool
	Prompts         []Prompt // what a chat with the agent proposes
}

// Reference names something else in the file.
type Reference struct {
	Position
	Name string
}

func (d *decoder) decodeAgents(file *object) []*Agent {
	n := file.of("agents", kindMapping)
	if n == nil || len(n.entries) == 0 {
		if file.values["agents"] == nil || n != nil {
			d.problem(file.pos, "the file needs at least one agent under `agents`")
		}
		return nil
	}
	agents := make([]*Agent, 0, len(n.entries))
	for _, e := range n.entries {
		if !isName(e.key) {
			d.problem(e.pos, "agent name %q: use 1 to 64 letters, digits, underscores and hyphens", e.key)
		}
		agents = append(agents, d.decodeAgent(e))
	}
	return agents
}

func (d *decoder) decodeAgent(e entry) *Agent {
	o := d.object(e.value, "agent "+e.key, agentKeys)
	o.pos = e.pos
	a := &Agent{
		API:           cmp.Or(o.choice("api", apiWords), "responses"),
		Position:      e.pos,
		Name:          e.key,
		Instructions:  o.text("instructions"),
		Model:         o.text("model"),
		MaxTurns:      o.integer("max_turns", 1, mostTurns, defaultMaxTurns),
		HistoryTokens: o.integer("history_tokens", leastHistoryTokens, mostTokens, defaultHistoryTokens),
		Settings: agent.ModelSettings{
			Temperature:       o.number("temperature", 0, 2),
			MaxOutputTokens:   o.integer("max_output_tokens", 1, mostTokens, 0),
			ReasoningEffort:   o.choice("reasoning_effort", effortWords),
			ParallelToolCalls: o.boolean("parallel_tool_calls"),
		},
	}
	if e.value.kind == kindMapping {
		o.require("agent "+e.key, "instructions", "model")
	}
	a.Tools = o.decodeTools()
	a.Handoffs = o.references("handoffs")
	a.Prompts = o.decodePrompts()
	a.StopOnFirstTool = o.flag("stop_on_first_tool")
	o.decodeToolChoice(a)
	a.Guardrails = o.decodeGuardrails(guardrailKeys, actionWords)
	o.decodeConversation(a)
	return a
}

func (o *object) decodeTools() []*Tool {
	var tools []*Tool
	lines := make(map[string]int)
	for _, n := range o.list("tools") {
		t := o.decodeTool(n)
		if t == nil {
			continue
		}
		name := t.Name
		if t.Type == MCP {
			name = "\x00" + t.Server.Name // its tools have names of their own
		}
		if line, twice := lines[name]; twice && name != "" && t.Type == MCP {
			o.problem(n.pos, "the agent has the MCP server %q twice; the first is on line %d", t.Server.Name, line)
		} else if twice && name != "" {
			o.problem(n.pos, "the agent has two tools called %q; the first is on line %d", name, line)
		}
		lines[name] = n.pos.Line
		tools = append(tools, t)
	}
	return tools
}

// isName reports whether s can name an agent or a tool.
func isName(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
