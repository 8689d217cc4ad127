package agentsfile

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ToolType is how a tool is made.
type ToolType string

// The types of tools.
const (
	Function   ToolType = "function"    // registered in the program under its name
	HTTP       ToolType = "http"        // a declared HTTP call
	Shell      ToolType = "shell"       // commands on this machine
	ApplyPatch ToolType = "apply_patch" // changes of files below a directory
	MCP        ToolType = "mcp"         // the tools of an MCP server that this program talks to
	HostedMCP  ToolType = "hosted_mcp"  // an MCP server that the provider talks to
	AgentTool  ToolType = "agent"       // another agent of the file
	WebSearch  ToolType = "web_search"  // the provider's
	External   ToolType = "external"    // somebody else carries it out
	AskTool    ToolType = "ask"         // a question that the agent asks people
)

// Tool is one tool of an agent. Fields that do not apply to its type are empty.
type Tool struct {
	Position
	Type       ToolType
	Name       string // of an MCP server's tools, empty; of a hosted one's, its label
	Version    string
	Gate       Gate
	Audit      bool          // approval: audit
	Idempotent *bool         // nil: as the type has it
	Timeout    time.Duration // zero: as the type has it
	Guardrails []*Guardrail
	Input      Input       // requires_user_input
	Secret     []Reference // arguments whose values people are shown only on request
	Title      Title       // the headline of questions about its calls

	Description  string
	Parameters   json.RawMessage // JSON Schema with the keys in the order of the file; nil when left out
	ParametersAt Position

	Trigger *Trigger // external; nil: people carry the calls out

	Method         string // http
	URL            Text   // http, hosted_mcp
	Headers        []Header
	AllowAddresses []netip.Prefix

	Directory Text      // shell: workdir; apply_patch: root
	Env       []EnvVar  // shell
	Shell     string    // shell: the program that runs scripts
	MaxOutput int       // shell: bytes; zero: as the type has it
	Native    bool      // shell, apply_patch: in the provider's own form
	Allow     []string  // apply_patch: patterns of paths; empty: all
	Server    Reference // mcp
	Tools     Filter    // mcp, hosted_mcp
	Prefix    string    // mcp: put before the names of its tools
	// Require is require_approval as plain data: nil when left out, else text, bool, list or mapping.
	Require   any // mcp, hosted_mcp
	RequireAt Position
	Agent     Reference // agent
	MaxTurns  int       // agent; zero: as the type has it
}

// Filter chooses tools of a server by name.
type Filter struct{ Allowed, Blocked []string }

// EnvVar is a variable for commands.
type EnvVar struct {
	Name  string
	Value Text
}

// Header is a header of an HTTP call.
type Header struct {
	Name  string
	Value Text
}

// defaultHTTPTimeout bounds an HTTP call of which the file says nothing.
const defaultHTTPTimeout = 30 * time.Second

func (d *decoder) decodeTool(n *node) *Tool {
	if n.kind != kindMapping {
		d.wrongType(n, "a tool", kindMapping)
		return nil
	}
	typ := d.toolType(n)
	form, ok := toolForms[typ]
	if !ok {
		return nil
	}
	what := article(string(typ)) + " tool"
	t := form.decode(d.object(n, what, form.keys), what)
	t.Position, t.Type = n.pos, typ
	return t
}

// toolForm is how the tools of a type are read.
type toolForm struct {
	keys   keys
	decode func(o *object, what string) *Tool
}

// toolForms are the types of tools.
var toolForms = map[ToolType]toolForm{
	Function:   {functionKeys, (*object).decodeFunction},
	HTTP:       {httpKeys, (*object).decodeHTTP},
	Shell:      {shellKeys, (*object).decodeShell},
	ApplyPatch: {patchKeys, (*object).decodePatch},
	MCP:        {mcpKeys, (*object).decodeMCP},
	HostedMCP:  {hostedMCPKeys, (*object).decodeHostedMCP},
	AgentTool:  {agentToolKeys, (*object).decodeAgentTool},
	WebSearch:  {webSearchKeys, (*object).decodeWebSearch},
	External:   {externalKeys, (*object).decodeExternal},
	AskTool:    {askKeys, (*object).decodeAsk},
}

func article(s string) string {
	if strings.ContainsRune("aeiouh", rune(s[0])) && s != string(HostedMCP) {
		return "an " + s
	}
	return "a " + s
}

// toolType reads the type before anything else: it says which keys are known.
func (d *decoder) toolType(n *node) ToolType {
	for _, e := range n.entries {
		if e.key == "type" {
			o := &object{decoder: d, pos: n.pos, values: map[string]*node{"type": e.value}}
			return ToolType(o.choice("type", toolTypeWords))
		}
	}
	d.problem(n.pos, "a tool needs `type`: %s", strings.Join(toolTypeWords.now, " or "))
	return ""
}

// decodeCommon reads what most types have. A name that is left out is the given one.
func (o *object) decodeCommon(name string, timeout time.Duration) *Tool {
	t := &Tool{
		Name:        o.literal("name"),
		Description: o.literal("description"),
		Version:     o.literal("version"),
		Gate:        o.decodeGate(),
		Audit:       o.choice("approval", approvalWords) == "audit",
		Idempotent:  o.boolean("idempotent"),
		Timeout:     o.duration("timeout", timeout),
		Input:       o.decodeInput(),
		Secret:      o.decodeSecret(),
		Title:       o.decodeTitle(),
	}
	if n := o.values["name"]; n != nil && n.kind == kindString && n.text != "" && !isName(n.text) {
		o.problem(n.pos, "tool name %q: use 1 to 64 letters, digits, underscores and hyphens", n.text)
	}
	t.Name = cmp.Or(t.Name, name)
	o.decodeToolGuardrails(t)
	if t.Audit && t.Gate.Ask == AskNever {
		o.problem(o.values["approval"].pos,
			"`approval: audit` records what needs_approval says yes to, and it says false")
	}
	return t
}

func (o *object) decodeFunction(what string) *Tool {
	o.require(what, "name")
	return o.decodeCommon("", 0)
}

func (o *object) decodeHTTP(what string) *Tool {
	o.require(what, "name", "description", "method", "url")
	t := o.decodeCommon("", defaultHTTPTimeout)
	t.Method = o.choice("method", methodWords)
	t.URL = o.decodeURL("url")
	t.Headers = o.decodeHeaders(ownHeaders)
	t.AllowAddresses = o.decodeAddresses()
	o.decodeParameters(t)
	return t
}

func (o *object) decodeParameters(t *Tool) {
	if n := o.of("parameters", kindMapping); n != nil {
		t.Parameters, t.ParametersAt = o.parameters(n), n.pos
	}
}

// decodeURL insists on a whole URL. The expanded one is judged, and only the written one shown.
func (o *object) decodeURL(key string) Text {
	t := o.text(key)
	if t.Value == "" {
		return t
	}
	u, err := url.Parse(t.Value)
	switch {
	case err != nil:
		o.problem(t.Position, "%s %q is no URL", key, t.Written)
	case u.Scheme != "http" && u.Scheme != "https":
		o.problem(t.Position, "%s %q does not start with http:// or https://", key, t.Written)
	case u.Host == "":
		o.problem(t.Position, "%s %q has no host", key, t.Written)
	case u.User != nil:
		o.problem(t.Position, "%s %q holds a user; write an Authorization header instead", key, t.Written)
	case u.Fragment != "":
		o.problem(t.Position, "%s %q has a fragment, which is never sent", key, t.Written)
	}
	return t
}

// ownHeaders are set by the program.
var ownHeaders = []string{"Content-Length", "Transfer-Encoding", "Connection", "Idempotency-Key"}

func (o *object) decodeHeaders(own []string) []Header {
	n := o.of("headers", kindMapping)
	if n == nil {
		return nil
	}
	var headers []Header
	seen := make(map[string]bool)
	for _, e := range n.entries {
		switch {
		case !isHeaderName(e.key):
			o.problem(e.pos, "%q is no header name", e.key)
		case slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, e.key) }):
			o.problem(e.pos, "header %s is set by the program; leave it out", e.key)
		case seen[strings.ToLower(e.key)]:
			o.problem(e.pos, "header %s is there twice", e.key)
		case e.value.kind != kindString:
			o.wrongType(e.value, "header "+e.key, kindString)
		default:
			headers = append(headers, Header{e.key, o.headerValue(e)})
		}
		seen[strings.ToLower(e.key)] = true
	}
	return headers
}

func (o *object) headerValue(e entry) Text {
	t := o.expand(e.value)
	if strings.ContainsFunc(t.Value, func(r rune) bool { return isControl(r) || r == '\n' }) {
		o.problem(e.value.pos, "the value of header %s holds a line break or control character", e.key)
	}
	return t
}

func isHeaderName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("!#$%&'*+-.^_`|~", r) &&
			(r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (o *object) decodeAddresses() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, n := range o.list("allow_addresses") {
		if n.kind != kindString {
			o.wrongType(n, "an entry of allow_addresses", kindString)
			continue
		}
		p, err := netip.ParsePrefix(n.text)
		if err != nil {
			o.problem(n.pos, "%q is no range of addresses such as 10.0.0.0/8", n.text)
			continue
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes
}
