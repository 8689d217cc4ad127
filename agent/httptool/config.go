package httptool

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/internal/location"
	"countersign/agent/internal/redact"
)

// Defaults of a Config.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 64 << 10
)

// Config declares an HTTP call as a tool.
type Config struct {
	// Name, Description and Version are the tool's, see [agent.Tool].
	Name, Description, Version string
	// Parameters is the JSON Schema of the arguments, an object. Empty: there are none.
	Parameters json.RawMessage
	// Validate replaces the check of arguments against Parameters. Nil: what package rawtool makes of them.
	Validate func(json.RawMessage) error

	// Method is GET, HEAD, POST, PUT, PATCH or DELETE.
	Method string
	// URL is where the call goes, with secrets filled in. It may have a query, which calls keep, but no user.
	URL string
	// WrittenURL is the URL as the operator wrote it, secrets as ${NAME}. It is stored and shown, and decisions are
	// bound to it, together with scheme, host and port of URL where it does not spell them out. Empty: URL.
	WrittenURL string
	// Headers are sent with every call, with secrets filled in. Decisions are bound to their names alone.
	Headers map[string]string
	// WrittenHeaders are the values of Headers as the operator wrote them, by the same names. What stands there for a
	// variable, in headers and the URL, is taken out of answers; of a header that is not in it, the whole value is if
	// its name speaks of a secret.
	WrittenHeaders map[string]string

	// Idempotent says that a call may be repeated with the same Idempotency-Key. GET and HEAD always may.
	Idempotent bool
	// Timeout bounds a call to the last byte of its answer. Zero: [DefaultTimeout].
	Timeout time.Duration
	// MaxBytes bounds how much of an answer's body the model gets. Zero: [DefaultMaxBytes].
	MaxBytes int

	// AllowAddresses are addresses that redirects may lead to although they are not public.
	AllowAddresses []netip.Prefix
	// Resolver looks up host names. Nil: the system's.
	Resolver *net.Resolver
	// TLS is used for https. Nil: the system's certificates.
	TLS *tls.Config
}

// declared is a Config that was checked.
type declared struct {
	Config
	url    *url.URL
	header http.Header
	host   string // the Host header, when the operator set one
	fixed  url.Values
	redact *strings.Replacer
	hidden *redact.Output // what a server may repeat and models do not read
}

// check returns the declaration, or an error that says where it is wrong without repeating a secret.
func (c Config) check() (*declared, error) {
	d := &declared{Config: c}
	d.Method = strings.ToUpper(c.Method)
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, d.Method) {
		return nil, d.wrong("method", "must be GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	if err := d.checkURL(); err != nil {
		return nil, err
	}
	if err := d.checkHeaders(); err != nil {
		return nil, err
	}
	if c.Timeout < 0 || c.MaxBytes < 0 {
		return nil, d.wrong("timeout", "must not be negative")
	}
	d.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	d.MaxBytes = cmp.Or(c.MaxBytes, DefaultMaxBytes)
	d.Idempotent = c.Idempotent || d.reads()
	d.redact, d.hidden = d.secrets(), d.credentials()
	return d, d.checkParameters()
}

func (d *declared) wrong(field, problem string) error {
	return fmt.Errorf("%w: http tool %q: %s %s", agent.ErrConfig, d.Name, field, problem)
}

func (d *declared) checkURL() error {
	u, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return d.wrong("url", "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return d.wrong("url", "must begin with http:// or https://")
	case u.Hostname() == "":
		return d.wrong("url", "has no host")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r >= 0x80 }):
		return d.wrong("url", "has a host with letters outside ASCII; write it as xn--…")
	case u.User != nil:
		return d.wrong("url", "has a user in it, and URLs are shown; send an Authorization header instead")
	case u.Fragment != "":
		return d.wrong("url", "has a fragment, which is never sent")
	}
	if d.fixed, err = url.ParseQuery(u.RawQuery); err != nil {
		return d.wrong("url", "has a query that cannot be read")
	}
	d.url = u
	return nil
}

// ownHeaders are set by the tool or the transport.
var ownHeaders = []string{
	"Idempotency-Key", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
	"Proxy-Authorization", "Proxy-Connection", "Expect",
}

func (d *declared) checkHeaders() error {
	d.header = make(http.Header)
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		key, value := textproto.CanonicalMIMEHeaderKey(name), d.Headers[name]
		switch {
		case name == "" || strings.ContainsFunc(name, notToken):
			return d.wrong(fmt.Sprintf("header %q", name), "has a name that is not allowed in HTTP")
		case slices.Contains(ownHeaders, key):
			return d.wrong("header "+key, "is set by the tool itself")
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

// secrets puts what stands for them into the texts that must not appear in errors.
func (d *declared) secrets() *strings.Replacer {
	s := make(redact.Secrets)
	s.AddExpanded(d.WrittenURL, d.URL)
	for _, values := range d.fixed {
		for _, v := range values {
			s.Add(v)
		}
	}
	for _, value := range d.Headers {
		s.AddHeader(value)
	}
	return s.Replacer()
}

// credentials are what is taken out of answers.
func (d *declared) credentials() *redact.Output {
	var c redact.Credentials
	c.AddURL(d.WrittenURL, d.URL)
	for name, value := range d.Headers {
		c.AddHeader(name, d.WrittenHeaders[name], value)
	}
	return c.Output()
}

// checkParameters makes sure that the arguments are an object that does not get in the way of the URL's own query.
func (d *declared) checkParameters() error {
	if len(d.Parameters) == 0 {
		return nil
	}
	var schema struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(d.Parameters, &schema); err != nil || schema.Type != "object" {
		return d.wrong("parameters", "must be a JSON Schema of type object")
	}
	if d.hasBody() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if d.fixed.Has(name) {
			return d.wrong("parameters",
				fmt.Sprintf("/properties/%s is also in the URL's query, and servers disagree which one counts", name))
		}
	}
	return nil
}

// reads reports whether a call changes nothing.
func (d *declared) reads() bool { return d.Method == http.MethodGet || d.Method == http.MethodHead }

func (d *declared) hasBody() bool {
	return d.Method == http.MethodPost || d.Method == http.MethodPut || d.Method == http.MethodPatch
}

// binding lists what decisions are bound to: method, URL as written with the host it stands for, names of headers.
func (d *declared) binding() []string {
	names := make([]string, 0, len(d.Headers))
	for name := range d.Headers {
		names = append(names, textproto.CanonicalMIMEHeaderKey(name))
	}
	slices.Sort(names)
	return append([]string{d.Method, location.URL(d.WrittenURL, d.URL)}, names...)
}
