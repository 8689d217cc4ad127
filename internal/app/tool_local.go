package app

import (
	"strings"

	"countersign/agent"
	"countersign/agent/patchtool"
	"countersign/agent/shelltool"
	"countersign/internal/app/agentsfile"
)

// newShellTool makes the tool that the file declares, without a gate.
func newShellTool(t *agentsfile.Tool) (agent.Tool, error) {
	env := make(map[string]string, len(t.Env))
	for _, v := range t.Env {
		env[v.Name] = v.Value.Value
	}
	tool, err := shelltool.New(shelltool.Config{
		Name: t.Name, Description: t.Description, Version: t.Version, Workdir: t.Directory.Value, WrittenWorkdir: t.Directory.Written,
		Env: env, Shell: t.Shell, Timeout: t.Timeout, MaxOutput: t.MaxOutput, Native: t.Native,
	})
	tool.NeedsApproval = nil
	return tool, err
}

// newPatchTool makes the tool that the file declares, without a gate.
func newPatchTool(t *agentsfile.Tool) (agent.Tool, error) {
	tool, err := patchtool.New(patchtool.Config{
		Name: t.Name, Description: t.Description, Version: t.Version, Root: t.Directory.Value, WrittenRoot: t.Directory.Written,
		Allow: t.Allow, Native: t.Native,
	})
	tool.NeedsApproval = nil
	tool.Timeout = t.Timeout
	return tool, err
}

// handoffWords tells the model when to hand over, from the first sentence of the other agent's instructions.
func handoffWords(to *agentsfile.Agent) string {
	first, _, _ := strings.Cut(strings.TrimSpace(to.Instructions.Written), "\n")
	return "Hand the conversation over to the agent " + to.Name + ". Its instructions begin: " + first
}
