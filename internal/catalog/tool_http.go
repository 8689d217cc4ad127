package catalog

import (
	"countersign/agent"
	"countersign/agent/httptool"
	"countersign/internal/agentsfile"
)

// newHTTPTool makes the tool that the file declares, without a gate.
func newHTTPTool(t *agentsfile.Tool) (agent.Tool, error) {
	headers, written := make(map[string]string, len(t.Headers)), make(map[string]string, len(t.Headers))
	for _, h := range t.Headers {
		headers[h.Name], written[h.Name] = h.Value.Value, h.Value.Written
	}
	return httptool.New(httptool.Config{
		Name: t.Name, Description: t.Description, Version: t.Version, Parameters: t.Parameters,
		Method: t.Method, URL: t.URL.Value, WrittenURL: t.URL.Written, Headers: headers, WrittenHeaders: written,
		Idempotent: t.Idempotent != nil && *t.Idempotent, Timeout: t.Timeout, AllowAddresses: t.AllowAddresses,
	})
}
