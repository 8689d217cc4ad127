package agentsfile

import (
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
	Function ToolType = "function" // registered in the program under its name
	HTTP     ToolType = "http"     // a declared HTTP call
)

// Tool is one tool of an agent. Fields that do not apply to its type are empty.
type Tool struct {
	Position
	Type       ToolType
	Name       string
	Version    string
	Gate       Gate
	Idempotent *bool         // nil: as the type has it
	Timeout    time.Duration // zero: as the type has it

	Description    string
	Parameters     json.RawMessage // JSON Schema with the keys in the order of the file; nil when left out
	ParametersAt   Position
	Method         string
	URL            Text
	Headers        []Header
	AllowAddresses []netip.Prefix
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
	switch d.toolType(n) {
	case Function:
		return d.decodeFunction(d.object(n, "a function tool", functionKeys))
	case HTTP:
		return d.decodeHTTP(d.object(n, "an http tool", httpKeys))
	}
	return nil
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

// decodeCommon reads what all types have.
func (o *object) decodeCommon(typ ToolType, what string, timeout time.Duration) *Tool {
	t := &Tool{
		Position:   o.pos,
		Type:       typ,
		Name:       o.literal("name"),
		Version:    o.literal("version"),
		Gate:       o.decodeGate(),
		Idempotent: o.boolean("idempotent"),
		Timeout:    o.duration("timeout", timeout),
	}
	o.require(what, "name")
	if n := o.values["name"]; n != nil && n.kind == kindString && n.text != "" && !isName(n.text) {
		o.problem(n.pos, "tool name %q: use 1 to 64 letters, digits, underscores and hyphens", n.text)
	}
	return t
}

func (d *decoder) decodeFunction(o *object) *Tool {
	return o.decodeCommon(Function, "a function tool", 0)
}

func (d *decoder) decodeHTTP(o *object) *Tool {
	t := o.decodeCommon(HTTP, "an http tool", defaultHTTPTimeout)
	o.require("an http tool", "description", "method", "url")
	t.Description = o.literal("description")
	t.Method = o.choice("method", methodWords)
	t.URL = o.decodeURL()
	t.Headers = o.decodeHeaders()
	t.AllowAddresses = o.decodeAddresses()
	if n := o.of("parameters", kindMapping); n != nil {
		t.Parameters, t.ParametersAt = o.parameters(n), n.pos
	}
	return t
}

// decodeURL insists on a whole URL. The expanded one is judged, and only the written one shown.
func (o *object) decodeURL() Text {
	t := o.text("url")
	if t.Value == "" {
		return t
	}
	u, err := url.Parse(t.Value)
	switch {
	case err != nil:
		o.problem(t.Position, "url %q is no URL", t.Written)
	case u.Scheme != "http" && u.Scheme != "https":
		o.problem(t.Position, "url %q does not start with http:// or https://", t.Written)
	case u.Host == "":
		o.problem(t.Position, "url %q has no host", t.Written)
	case u.User != nil:
		o.problem(t.Position, "url %q holds a user; write an Authorization header instead", t.Written)
	case u.Fragment != "":
		o.problem(t.Position, "url %q has a fragment, which is never sent", t.Written)
	}
	return t
}

// ownHeaders are set by the program.
var ownHeaders = []string{"Content-Length", "Transfer-Encoding", "Connection", "Idempotency-Key"}

func (o *object) decodeHeaders() []Header {
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
		case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(own, e.key) }):
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
		if !strings.ContainsRune("!#$%&'*+-.^_`|~", r) && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
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
