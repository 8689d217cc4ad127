package agentsfile

import "time"

// MCPServer is an MCP server that this program talks to. Exactly one of Command, URL and SSE is set.
type MCPServer struct {
	Position
	Name    string
	Command []Text // program and arguments
	Env     []EnvVar
	Dir     Text // where the command runs; empty: where the program runs
	URL     Text // streamable HTTP
	SSE     Text
	Headers []Header
	Trusted bool          // what it says about its tools is believed
	Timeout time.Duration // of a call; zero: as the toolset has it
}

// ownMCPHeaders are set by the protocol.
var ownMCPHeaders = []string{
	"Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept",
	"Mcp-Session-Id", "Mcp-Protocol-Version",
}

func (d *decoder) decodeMCPServers(n *node) []*MCPServer {
	if n == nil {
		return nil
	}
	var servers []*MCPServer
	for _, e := range n.entries {
		if !isName(e.key) {
			d.problem(e.pos, "MCP server name %q: use 1 to 64 letters, digits, underscores and hyphens", e.key)
		}
		servers = append(servers, d.decodeMCPServer(e))
	}
	return servers
}

func (d *decoder) decodeMCPServer(e entry) *MCPServer {
	what := "MCP server " + e.key
	o := d.object(e.value, what, mcpServerKeys)
	o.pos = e.pos
	s := &MCPServer{
		Position: e.pos, Name: e.key,
		Command: o.texts("command"), Env: o.decodeEnv(), Dir: o.optionalDirectory("dir"),
		URL: o.decodeURL("url"), SSE: o.decodeURL("sse"), Headers: o.decodeHeaders(ownMCPHeaders),
		Trusted: o.flag("trusted"), Timeout: o.duration("timeout", 0),
	}
	ways := 0
	for _, key := range []string{"command", "url", "sse"} {
		if o.values[key] != nil {
			ways++
		}
	}
	local := o.values["command"] != nil
	switch {
	case e.value.kind != kindMapping:
	case ways != 1:
		d.problem(e.pos, "%s needs exactly one of command, url and sse", what)
	case local && o.values["command"].kind == kindSequence && len(o.values["command"].items) == 0:
		d.problem(o.values["command"].pos, "command is a list: the program and its arguments")
	case local && o.values["headers"] != nil:
		d.problem(o.values["headers"].pos, "headers have no meaning for a command; use env")
	case !local && (o.values["env"] != nil || o.values["dir"] != nil):
		d.problem(e.pos, "env and dir have no meaning without a command; use headers")
	}
	return s
}

// optionalDirectory is directory for one that may be left out.
func (o *object) optionalDirectory(key string) Text {
	if o.values[key] == nil {
		return Text{}
	}
	return o.directory(key)
}

// texts returns a list of texts with variables expanded.
func (o *object) texts(key string) []Text {
	var list []Text
	for _, n := range o.list(key) {
		if n.kind != kindString {
			o.wrongType(n, "an entry of "+key, kindString)
			continue
		}
		list = append(list, o.expand(n))
	}
	return list
}

func (o *object) decodeMCP(what string) *Tool {
	o.require(what, "server")
	t := &Tool{
		Prefix: o.literal("prefix"), Input: o.decodeInput(), Secret: o.decodeSecret(),
		Tools: Filter{o.literals("allowed_tools", anything), o.literals("blocked_tools", anything)},
	}
	t.Server = o.reference("server")
	if t.Prefix != "" && !isName(t.Prefix) {
		o.problem(o.values["prefix"].pos, "prefix %q: use letters, digits, underscores and hyphens", t.Prefix)
	}
	o.decodeRequire(t)
	return t
}

func (o *object) decodeHostedMCP(what string) *Tool {
	o.require(what, "server_label", "server_url")
	t := &Tool{
		Name: o.literal("server_label"), Description: o.literal("server_description"), URL: o.decodeURL("server_url"),
		Headers: o.decodeHeaders(nil), Tools: Filter{Allowed: o.literals("allowed_tools", anything)},
		Gate: o.decodeGate(),
	}
	if n := o.of("server_label", kindString); n != nil && n.text != "" && !isName(n.text) {
		o.problem(n.pos, "server_label %q: use 1 to 64 letters, digits, underscores and hyphens", n.text)
	}
	o.decodeRequire(t)
	return t
}

// decodeRequire reads require_approval as plain data; the tool's package judges it.
func (o *object) decodeRequire(t *Tool) {
	n := o.values["require_approval"]
	t.RequireAt = o.pos
	if n == nil {
		return
	}
	t.Require, t.RequireAt = o.plain(n), n.pos
}

// plain returns a value of the file as plain data.
func (d *decoder) plain(n *node) any {
	switch n.kind {
	case kindMapping:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = d.plain(e.value)
		}
		return m
	case kindSequence:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = d.plain(item)
		}
		return list
	case kindBoolean:
		return n.text == "true"
	case kindNull:
		return nil
	}
	d.noVariables(n, "require_approval")
	return n.text
}

// checkReferences notes names of agents and servers that the file does not have, and names that clash.
func (d *decoder) checkReferences(f *File) {
	for _, a := range f.Agents {
		for _, h := range a.Handoffs {
			d.knownAgent(f, &node{kind: kindString, text: h.Name, pos: h.Position})
			if h.Name == a.Name {
				d.problem(h.Position, "agent %s cannot hand over to itself", a.Name)
			}
		}
		for _, t := range a.Tools {
			switch t.Type {
			case AgentTool:
				if t.Agent.Name != "" {
					d.knownAgent(f, &node{kind: kindString, text: t.Agent.Name, pos: t.Agent.Position})
				}
			case MCP:
				d.knownServer(f, t.Server)
			}
		}
	}
}

func (d *decoder) knownServer(f *File, r Reference) {
	if r.Name == "" || f.MCPServer(r.Name) != nil {
		return
	}
	names := make([]string, len(f.MCPServers))
	for i, s := range f.MCPServers {
		names[i] = s.Name
	}
	switch near := Nearest(r.Name, names); {
	case len(names) == 0:
		d.problem(r.Position, "no MCP server is called %q; declare it under `mcp_servers`", r.Name)
	case near != "":
		d.problem(r.Position, "no MCP server is called %q; did you mean %q?", r.Name, near)
	default:
		d.problem(r.Position, "no MCP server is called %q; the file has %q", r.Name, names)
	}
}
