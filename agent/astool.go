package agent

// agentTool is what a tool made by Agent.AsTool knows beyond other tools.
type agentTool struct {
	agent *Agent
}
