package app

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"countersign/agent"
	"countersign/agent/httptool"
	"countersign/agent/mcptoolset"
	"countersign/internal/app/agentsfile"
)

// retireAfter is how long a server that a reloaded file no longer has stays open for the runs that are under way.
const retireAfter = time.Minute

// mcpServers are the MCP servers that are open. A file that is read again takes over those that it declares as before.
type mcpServers struct {
	log *slog.Logger

	mu   sync.Mutex
	open map[[sha256.Size]byte]*mcptoolset.Server
}

func newMCPServers(log *slog.Logger) *mcpServers {
	return &mcpServers{log: log, open: make(map[[sha256.Size]byte]*mcptoolset.Server)}
}

// server returns the server that the file declares. It is contacted when its tools are first wanted.
func (m *mcpServers) server(d *agentsfile.MCPServer) (*mcptoolset.Server, [sha256.Size]byte, error) {
	cfg := mcptoolset.ServerConfig{
		Name: d.Name, Dir: d.Dir.Value, URL: d.URL.Value, SSE: d.SSE.Value, WrittenURL: d.URL.Written + d.SSE.Written,
		Trusted: d.Trusted, CallTimeout: d.Timeout, Version: buildVersion().Version, Logger: m.log,
	}
	for _, word := range d.Command {
		cfg.Command = append(cfg.Command, word.Value)
		cfg.WrittenCommand = append(cfg.WrittenCommand, word.Written)
	}
	if len(d.Env) > 0 {
		cfg.Env = make(map[string]string, len(d.Env))
	}
	for _, v := range d.Env {
		cfg.Env[v.Name] = v.Value.Value
	}
	if len(d.Headers) > 0 {
		cfg.Headers = make(map[string]string, len(d.Headers))
	}
	for _, h := range d.Headers {
		cfg.Headers[h.Name] = h.Value.Value
	}
	key := fingerprint(cfg)
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.open[key]; ok {
		return s, key, nil
	}
	s, err := mcptoolset.NewServer(cfg)
	if err == nil {
		m.open[key] = s
	}
	return s, key, err
}

// fingerprint tells declarations apart, values included.
func fingerprint(cfg mcptoolset.ServerConfig) [sha256.Size]byte {
	cfg.Logger = nil
	text, _ := json.Marshal(cfg) // strings, maps of strings, and numbers always encode
	return sha256.Sum256(text)
}

// retire closes the servers that are not among those to keep, once the runs under way have had time to end.
func (m *mcpServers) retire(keep map[[sha256.Size]byte]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.open {
		if keep[key] {
			continue
		}
		delete(m.open, key)
		time.AfterFunc(retireAfter, func() { m.close(s) })
	}
}

// closeAll ends every server.
func (m *mcpServers) closeAll() {
	m.mu.Lock()
	servers := slices.Collect(maps.Values(m.open))
	clear(m.open)
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() { m.close(s) })
	}
	wg.Wait()
}

func (m *mcpServers) close(s *mcptoolset.Server) {
	if err := s.Close(); err != nil {
		m.log.Warn("MCP server not ended cleanly", "server", s.Name(), "error", err)
	}
}

// toolset gives the agent the tools of an MCP server.
func (b *builder) toolset(a *agentsfile.Agent, built *agent.Agent, t *agentsfile.Tool) {
	declared := b.file.MCPServer(t.Server.Name)
	server, key, err := b.servers.server(declared)
	if err != nil {
		b.problem(declared.Position, "MCP server %q: %s", declared.Name, reason(err))
		return
	}
	b.used[key] = true
	policy, err := mcptoolset.ParsePolicy(t.Require)
	if err != nil {
		b.problem(t.RequireAt, "%s", reason(err))
		return
	}
	set, err := mcptoolset.New(mcptoolset.Config{
		Server: server, AllowedTools: t.Tools.Allowed, BlockedTools: t.Tools.Blocked, ToolPrefix: t.Prefix, RequireApproval: policy,
	})
	if err != nil {
		b.problem(t.Position, "%s", reason(err))
		return
	}
	built.Toolsets = append(built.Toolsets, set)
	if b.gated == nil && !never(t.Require) {
		b.gated = t
	}
	b.rows = append(b.rows, toolRow{Agent: a.Name, Tool: t.Prefix + "*", Type: string(t.Type), Gate: mcpWords(t, declared), Call: whereabouts(declared)})
}

// reason is an error's text without the words that say what kind of error it is.
func reason(err error) string {
	text := err.Error()
	if errors.Is(err, agent.ErrConfig) {
		prefix := agent.ErrConfig.Error() + ": "
		if len(text) > len(prefix) && text[:len(prefix)] == prefix {
			return text[len(prefix):]
		}
	}
	return text
}

// never reports whether require_approval says that nothing asks.
func never(require any) bool { return require == "never" || require == false }

func mcpWords(t *agentsfile.Tool, s *agentsfile.MCPServer) string {
	switch {
	case never(t.Require):
		return "never asks"
	case t.Require == nil && s.Trusted:
		return "asks unless a tool only reads"
	case t.Require == nil, t.Require == "always", t.Require == true:
		return "always asks"
	}
	return "asks as require_approval says"
}

func whereabouts(s *agentsfile.MCPServer) string {
	text := s.URL.Written + s.SSE.Written
	for i, word := range s.Command {
		if i > 0 {
			text += " "
		}
		text += word.Written
	}
	return text
}

// hosted is how the provider is told about an MCP server that it talks to itself.
type hosted struct {
	Type        string   `json:"type"`
	Label       string   `json:"server_label"`
	URL         string   `json:"server_url"`
	Description string   `json:"server_description,omitempty"`
	Allowed     []string `json:"allowed_tools,omitempty"`
	Require     any      `json:"require_approval"`
}

// newHostedMCP makes the tool that the file declares, without a gate. What a decision is bound to holds the URL and the
// names of the headers as they are written.
func newHostedMCP(t *agentsfile.Tool) (agent.Tool, error) {
	if _, err := mcptoolset.ParsePolicy(t.Require); err != nil {
		return agent.Tool{}, err
	}
	describe := hosted{Type: "mcp", Label: t.Name, URL: t.URL.Written, Description: t.Description, Allowed: t.Tools.Allowed, Require: hostedRequire(t.Require)}
	written, err := json.Marshal(describe)
	if err != nil {
		return agent.Tool{}, err
	}
	tool := agent.Tool{Name: t.Name, Kind: agent.KindHostedMCP, Wire: agent.WireHosted, Hosted: written, Description: t.Description}
	secrets := make(map[string]any)
	if len(t.Headers) > 0 {
		headers := make(map[string]string, len(t.Headers))
		for _, h := range t.Headers {
			headers[h.Name] = h.Value.Value
			tool.Binding = append(tool.Binding, "header "+h.Name)
		}
		secrets["headers"] = headers
	}
	if t.URL.Secret() {
		return tool, fmt.Errorf("server_url %s: ${…} is not expanded here; put what is secret into headers", t.URL.Written)
	}
	if len(secrets) > 0 {
		tool.HostedSecrets, err = json.Marshal(secrets)
	}
	return tool, err
}

// hostedRequire is require_approval in the provider's form. What the file does not speak of is asked about, so only what
// never asks has to be said.
func hostedRequire(require any) any {
	if never(require) {
		return "never"
	}
	m, ok := require.(map[string]any)
	if !ok {
		return "always"
	}
	if filter, ok := m["never"].(map[string]any); ok {
		return map[string]any{"never": providerFilter(filter)}
	}
	if _, ok := m["always"].(map[string]any); ok {
		return "always"
	}
	var names []string // tools by name
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if never(m[name]) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "always"
	}
	return map[string]any{"never": map[string]any{"tool_names": names}}
}

// providerFilter spells a filter as the provider does.
func providerFilter(filter map[string]any) map[string]any {
	spelled := make(map[string]any, len(filter))
	for key, value := range filter {
		switch key {
		case "toolNames":
			key = "tool_names"
		case "readOnly":
			key = "read_only"
		}
		spelled[key] = value
	}
	return spelled
}

func hostedWords(t *agentsfile.Tool, tool *agent.Tool) string {
	switch {
	case never(t.Require):
		return "never asks"
	case tool.NeedsApproval == nil:
		return "the provider asks, and nobody is"
	case t.Require == nil, t.Require == "always", t.Require == true:
		return "always asks"
	}
	return "asks as require_approval says"
}

// newExternalTool makes the tool that the file declares, without a gate.
func newExternalTool(t *agentsfile.Tool) (agent.Tool, error) {
	tool := agent.Tool{Name: t.Name, Description: t.Description, Version: t.Version, Kind: agent.KindExternal, Parameters: t.Parameters, External: true}
	if len(t.Parameters) == 0 {
		return tool, nil
	}
	var err error
	tool.Validate, err = httptool.Validator(t.Parameters)
	return tool, err
}
