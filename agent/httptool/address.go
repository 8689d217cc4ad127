package httptool

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// addressError says that a redirect leads to an address that is neither public nor allowed.
type addressError struct{ addr netip.Addr }

func (e *addressError) Error() string {
	return fmt.Sprintf("%s is not a public address; the operator can allow it with allow_addresses", e.addr)
}

// public4 and public6 are address ranges, less the exceptions, that belong to the public internet.
var (
	special4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")
	// Everything else in IPv6 is local, reserved, or another address in disguise (mapped, NAT64).
	public6 = netip.MustParsePrefix("2000::/3")
	// Tunnels carry an IPv4 address inside; documentation and benchmarking are nobody's.
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// public reports whether an address is one that anybody may run a server at.
func public(a netip.Addr) bool {
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	switch a = a.WithZone("").Unmap(); {
	case !a.IsValid():
		return false
	case a.Is4():
		return !slices.ContainsFunc(special4, in)
	default:
		return public6.Contains(a) && !slices.ContainsFunc(special6, in)
	}
}

// guard checks every address that is dialled for a host that the operator did not write.
type guard struct {
	written string // the operator's host and port
	upgrade string // the same host with https, when the operator wrote http
	allowed []netip.Prefix
	plain   net.Dialer
	checked net.Dialer
}

// newTransport returns a transport that dials through a guard. It keeps no connections for calls that change
// something: a transport repeats a request by itself when a kept connection turns out to be dead, and takes the
// Idempotency-Key for permission. Whoever repeats such a call has to know that it was sent before.
func newTransport(d *declared) *http.Transport {
	g := &guard{written: net.JoinHostPort(d.url.Hostname(), port(d.url)), allowed: d.AllowAddresses}
	if d.url.Scheme == "http" && port(d.url) == "80" {
		g.upgrade = net.JoinHostPort(d.url.Hostname(), "443")
	}
	g.plain = net.Dialer{Timeout: 10 * time.Second, Resolver: d.Resolver}
	g.checked = g.plain
	g.checked.Control = g.control
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.dial,
		TLSClientConfig:        d.TLS,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 256 << 10,
		DisableKeepAlives:      !d.reads(),
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
	}
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.EqualFold(address, g.written) || g.upgrade != "" && strings.EqualFold(address, g.upgrade) {
		return g.plain.DialContext(ctx, network, address)
	}
	return g.checked.DialContext(ctx, network, address)
}

// control sees the address as it was resolved for this connection, right before it is made.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial an address that cannot be read: %w", err)
	}
	a := at.Addr().WithZone("")
	for _, p := range g.allowed {
		if p.Contains(a) || p.Contains(a.Unmap()) {
			return nil
		}
	}
	if !public(a) {
		return &addressError{a}
	}
	return nil
}
