package catalog

import (
	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/internal/agentsfile"
)

// newExternalTool makes the tool that the file declares, without a gate.
func newExternalTool(t *agentsfile.Tool) (agent.Tool, error) {
	tool := agent.Tool{Name: t.Name, Description: t.Description, Version: t.Version, Kind: agent.KindExternal,
		Parameters: t.Parameters, External: true}
	if len(t.Parameters) == 0 {
		return tool, nil
	}
	var err error
	tool.Validate, err = rawtool.Validator(t.Parameters)
	return tool, err
}
