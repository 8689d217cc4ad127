package mcptoolset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/internal/location"
	"countersign/agent/internal/procgroup"
)

// Defaults of a ServerConfig.
const (
	DefaultCallTimeout    = 60 * time.Second
	DefaultConnectTimeout = 15 * time.Second
)

// ServerConfig declares an MCP server: exactly one of Command, URL and SSE says where it is.
type ServerConfig struct {
	// Name is the server's label: letters, digits, underscores and hyphens, at most 64. Decisions are bound to it.
	Name string

	// Command is a program and its arguments, spoken to over its standard input and output. It gets the variables of
	// Env and, as far as this process has them, HOME, LANG, LOGNAME, PATH, SHELL, TMPDIR, TZ and USER, and no others.
	Command []string
	// WrittenCommand is the command as the operator wrote it, secrets as ${NAME}. It is stored and shown, and decisions
	// are bound to it. Empty: Command.
	WrittenCommand []string
	// Env are further environment variables of Command. Decisions are bound to their names alone.
	Env map[string]string
	// WrittenEnv and WrittenHeaders are the values of Env and Headers as the operator wrote them, by the same names.
	// What stands there for a variable, in them, the command and the URL, is taken out of what the server says. Of one
	// that is not in them the whole value is if its name speaks of a secret.
	WrittenEnv, WrittenHeaders map[string]string
	// Dir is the working directory of Command. Empty: this process's.
	Dir string
	// WrittenDir is the directory as the operator wrote it, like WrittenCommand. Empty: Dir.
	WrittenDir string

	// URL is the endpoint of a server that speaks streamable HTTP.
	URL string
	// SSE is the endpoint of a server that speaks the HTTP+SSE transport of 2024.
	SSE string
	// WrittenURL is URL or SSE as the operator wrote it, like WrittenCommand. Empty: URL or SSE.
	WrittenURL string
	// Headers are sent with every request to the host of URL or SSE, and to no other. Decisions are bound to their
	// names alone.
	Headers map[string]string

	// Trusted says that the operator believes the server's annotations: tools with a readOnlyHint need no approval by
	// default, and a call without an answer has failed; a call of a tool with an idempotentHint is made once more when
	// its answer is lost, and again after a crash.
	Trusted bool

	// ConnectTimeout bounds making a connection. Zero: [DefaultConnectTimeout].
	ConnectTimeout time.Duration
	// CallTimeout bounds one call, and one listing of the tools. Zero: [DefaultCallTimeout].
	CallTimeout time.Duration
	// Version is what the server is told about this program. Empty: "dev".
	Version string
	// Logger is told what is left out and what broke; never arguments, outputs or secrets. Nil: nobody is.
	Logger *slog.Logger
}

// transport says how a server is spoken to.
type transport string

const (
	stdio      transport = "stdio"
	streamable transport = "http"
	sse        transport = "sse"
)

// declared is a ServerConfig that was checked.
type declared struct {
	ServerConfig
	transport transport
	url       *url.URL
	header    http.Header
	host      string // the Host header, when the operator set one
}

// check returns the declaration, or an error that says where it is wrong without repeating a secret.
func (c ServerConfig) check() (*declared, error) {
	d := &declared{ServerConfig: c}
	if !validName(c.Name) {
		return nil, d.wrong("name", "must be 1 to 64 letters, digits, underscores and hyphens")
	}
	if c.CallTimeout < 0 || c.ConnectTimeout < 0 {
		return nil, d.wrong("timeout", "must not be negative")
	}
	d.CallTimeout = cmp.Or(c.CallTimeout, DefaultCallTimeout)
	d.ConnectTimeout = cmp.Or(c.ConnectTimeout, DefaultConnectTimeout)
	d.Version = cmp.Or(c.Version, "dev")
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.Logger = d.Logger.With("mcp_server", c.Name)
	switch places := [...]bool{len(c.Command) > 0, c.URL != "", c.SSE != ""}; places {
	case [...]bool{true, false, false}:
		d.transport = stdio
		return d, d.checkCommand()
	case [...]bool{false, true, false}:
		d.transport = streamable
	case [...]bool{false, false, true}:
		d.transport = sse
	default:
		return nil, d.wrong("command", "or url or sse is needed, and only one of them")
	}
	if err := d.checkURL(); err != nil {
		return nil, err
	}
	return d, d.checkHeaders()
}

func (d *declared) wrong(field, problem string) error {
	return fmt.Errorf("%w: mcp server %q: %s %s", agent.ErrConfig, d.Name, field, problem)
}

func (d *declared) checkCommand() error {
	switch {
	case !procgroup.Supported:
		return d.wrong("command",
			"cannot be used on this system: a program and all it started could not be ended together; use url")
	case d.Command[0] == "":
		return d.wrong("command", "begins with an empty text; the first is the program")
	case len(d.Headers) > 0:
		return d.wrong("headers", "belong to url and sse; a command has env")
	case d.WrittenURL != "":
		return d.wrong("url", "is not used together with command")
	case len(d.WrittenCommand) > 0 && len(d.WrittenCommand) != len(d.Command):
		return d.wrong("command", "as written has another number of arguments")
	}
	for _, arg := range d.Command {
		if strings.ContainsRune(arg, 0) {
			return d.wrong("command", "has a zero byte in an argument")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(d.Env[name], 0) {
			return d.wrong(fmt.Sprintf("env %q", name), "is no environment variable")
		}
	}
	if d.Dir == "" {
		return nil
	}
	if info, err := os.Stat(d.Dir); err != nil || !info.IsDir() {
		return d.wrong("dir", fmt.Sprintf("%q is not a directory that is there", cmp.Or(d.WrittenDir, d.Dir)))
	}
	return nil
}

func (d *declared) checkURL() error {
	field := "url"
	if d.transport == sse {
		field = "sse"
	}
	u, err := url.Parse(d.URL + d.SSE)
	switch {
	case err != nil:
		return d.wrong(field, "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return d.wrong(field, "must begin with http:// or https://")
	case u.Hostname() == "":
		return d.wrong(field, "has no host")
	case u.User != nil:
		return d.wrong(field, "has a user in it, and URLs are shown; send an Authorization header instead")
	case u.Fragment != "":
		return d.wrong(field, "has a fragment, which is never sent")
	case len(d.Env) > 0:
		return d.wrong("env", "belongs to command; a server behind a URL has headers")
	case d.Dir != "" || d.WrittenDir != "":
		return d.wrong("dir", "belongs to command")
	case len(d.WrittenCommand) > 0:
		return d.wrong("command", "is not used together with "+field)
	}
	d.url = u
	return nil
}

// ownHeaders are set by the protocol or the transport.
var ownHeaders = []string{
	"Accept", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer",
	"Upgrade", "Proxy-Authorization", "Proxy-Connection", "Expect", "Last-Event-Id",
}

func (d *declared) checkHeaders() error {
	d.header = make(http.Header)
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		key, value := textproto.CanonicalMIMEHeaderKey(name), d.Headers[name]
		switch {
		case name == "" || strings.ContainsFunc(name, notToken):
			return d.wrong(fmt.Sprintf("header %q", name), "has a name that is not allowed in HTTP")
		case slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "Mcp-"):
			return d.wrong("header "+key, "is set by the protocol itself")
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return d.wrong("header "+key, "has a line end or another control character in its value")
		case d.header.Get(key) != "" || key == "Host" && d.host != "":
			return d.wrong("header "+key, "is there twice")
		case key == "Host":
			d.host = value
		default:
			d.header.Set(key, value)
		}
	}
	return nil
}

func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
}

// identity lists what decisions are bound to of the server: label, transport, where it is as written and which host and
// directory that stands for, names of headers and environment variables.
func (d *declared) identity() []string {
	id := []string{"server=" + d.Name, "transport=" + string(d.transport)}
	if d.transport != stdio {
		id = append(id, "url="+location.URL(d.WrittenURL, d.URL+d.SSE))
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			id = append(id, "header="+textproto.CanonicalMIMEHeaderKey(name))
		}
		return id
	}
	command := d.WrittenCommand
	if len(command) == 0 {
		command = d.Command
	}
	quoted, _ := json.Marshal(command) // a list of texts always can be
	id = append(id, "command="+string(quoted), "dir="+location.Directory(d.WrittenDir, d.Dir))
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		id = append(id, "env="+name)
	}
	return id
}

// where is the server in words for people, as written.
func (d *declared) where() string {
	if d.transport == stdio {
		if len(d.WrittenCommand) > 0 {
			return strings.Join(d.WrittenCommand, " ")
		}
		return strings.Join(d.Command, " ")
	}
	return cmp.Or(d.WrittenURL, d.URL+d.SSE)
}
