package httptool_test

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent/httptool"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// resolver answers every question for an IPv4 address with the next of addrs, the last one for ever.
func resolver(addrs ...[4]byte) *net.Resolver {
	var n atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			for {
				var length [2]byte
				if _, err := io.ReadFull(server, length[:]); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(server, query); err != nil {
					return
				}
				next := func() [4]byte { return addrs[min(int(n.Add(1)), len(addrs))-1] }
				reply := dnsReply(query, next)
				_, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
				if err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

// dnsReply answers a question of type A, and says there is nothing for any other.
func dnsReply(query []byte, next func() [4]byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	isA := binary.BigEndian.Uint16(query[end+1:]) == 1
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if isA {
		addr := next()
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, addr[:]...)
	}
	return reply
}

// victim counts the connections to a port on every address of this machine.
func victim(t *testing.T) (port string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int64)
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "SECRET OF THE VICTIM")
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			connections.Add(map[http.ConnState]int64{http.StateNew: 1}[state])
		},
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, connections
}

// Redirects are tried at every spelling of an address that is not public; none may be connected to, whatever name
// resolution says. The host that the operator wrote is on the loopback interface itself and works.
func TestRedirectsToInnerAddresses(t *testing.T) {
	t.Parallel()
	port, connections := victim(t)
	spellings := []string{
		// loopback, in all its spellings
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.1.2.3", "127.255.255.254", "0x7f000001", "0x7f.0.0.1",
		"0x7f.1", "0X7F.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "0177.0.0.01", "00000177.1",
		"127.000.000.001", "0", "0.0.0.0", "00", "0x0", "localhost", "LOCALHOST", "localhost.", "localhost.localdomain",
		"inner.localhost", "any.example", "xn--jxalpdlp", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1%25lo]",
		"[fe80::1]", "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1",
		// private, shared, link-local, multicast, reserved
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "192.0.0.8",
		"198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[fec0::1]", "[2001:db8::1]", "[100::1]",
		"[::ffff:169.254.169.254]", "[::ffff:10.0.0.1]", "[5f00::1]",
	}
	if name, err := os.Hostname(); err == nil {
		spellings = append(spellings, name)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !isPublic(p.Addr()) {
			spellings = append(spellings, p.Addr().String())
		}
	}
	var locations []string
	for _, host := range spellings {
		locations = append(locations, "http://"+host+":"+port+"/")
	}
	locations = append(locations,
		"//127.0.0.1:"+port+"/", "http://user@127.0.0.1:"+port+"/", "http://public.example:80@127.0.0.1:"+port+"/",
		`http:\\127.0.0.1:`+port+"/", "http:127.0.0.1:"+port+"/", "http:/127.0.0.1:"+port+"/",
		"http://127.0.0.1:"+port+"#@public.example/", "https://127.0.0.1:"+port+"/", "HTTP://127.0.0.1:"+port+"/",
		"ftp://127.0.0.1:"+port+"/", "gopher://127.0.0.1:"+port+"/_x", "file:///etc/passwd",
		"unix:///var/run/docker.sock", "javascript:alert(1)", "", "http://", "http://%31%32%37.0.0.1:"+port+"/",
		"http://127.0.0.1%2f@public.example:"+port+"/", "http://[::1%25]:"+port+"/", "http://127.0.0.1\t:"+port+"/")

	var location atomic.Value
	operator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			w.Header()["Location"] = []string{location.Load().(string)}
			w.WriteHeader(http.StatusFound)
		}
	}))
	t.Cleanup(operator.Close)
	tool := newTool(t, httptool.Config{
		Method: "GET", URL: operator.URL + "/start", Resolver: resolver([4]byte{127, 0, 0, 1}),
	})
	for _, l := range locations {
		location.Store(l)
		text := invoke(t, tool, `{}`)
		if n := connections.Load(); n != 0 || strings.Contains(text, "VICTIM") {
			t.Fatalf("%q: %d connections were made, output %q", l, n, text)
		}
	}
	t.Logf("%d places were tried", len(locations))

	// Control: the same listener is reached by each kind of name when its address is allowed.
	allowed := newTool(t, httptool.Config{
		Method: "GET", URL: operator.URL + "/start", Resolver: resolver([4]byte{127, 0, 0, 1}),
		AllowAddresses: loopback,
	})
	for i, host := range []string{"127.0.0.1", "any.example", "localhost", "[::ffff:127.0.0.1]"} {
		location.Store("http://" + host + ":" + port + "/")
		text := invoke(t, allowed, `{}`)
		if text != "SECRET OF THE VICTIM" || connections.Load() < int64(i+1) && i == 0 {
			t.Errorf("control %s: output %q, %d connections", host, text, connections.Load())
		}
	}
}

func isPublic(a netip.Addr) bool { return !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() }

// A name that is public when it is looked up first and local afterwards is judged by the address that is dialled.
func TestRebinding(t *testing.T) {
	t.Parallel()
	port, connections := victim(t)
	operator := httptest.NewServer(http.RedirectHandler("http://rebind.example:"+port+"/", http.StatusFound))
	t.Cleanup(operator.Close)
	tool := newTool(t, httptool.Config{
		Method: "GET", URL: operator.URL, Resolver: resolver([4]byte{192, 0, 2, 9}, [4]byte{127, 0, 0, 1}),
	})
	for range 3 {
		if text := invoke(t, tool, `{}`); connections.Load() != 0 || !strings.Contains(text, "not a public address") {
			t.Errorf("output %q, %d connections", text, connections.Load())
		}
	}
}

// The operator's own host may have any address, whether it is written as a number or as a name.
func TestOperatorsHostMayBeLocal(t *testing.T) {
	t.Parallel()
	port, _ := victim(t)
	for _, host := range []string{"127.0.0.1", "localhost", "intranet.example", "[::ffff:127.0.0.1]"} {
		tool := newTool(t, httptool.Config{
			Method: "GET", URL: "http://" + host + ":" + port, Resolver: resolver([4]byte{127, 0, 0, 1}),
		})
		if text := invoke(t, tool, `{}`); text != "SECRET OF THE VICTIM" {
			t.Errorf("%s: %q", host, text)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "s=s3cret"}
	other, atOther := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		if back := r.URL.Query().Get("back"); back != "" {
			http.Redirect(w, r, back, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "other")
	})
	own, atOwn := recorder(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/inside":
			http.Redirect(w, r, "/end?x=1", http.StatusTemporaryRedirect)
		case "/outside":
			http.Redirect(w, r, other+"/", http.StatusMovedPermanently)
		case "/and-back":
			http.Redirect(w, r, other+"/?back=http://"+r.Host+"/end", http.StatusSeeOther)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/end":
			_, _ = io.WriteString(w, "end")
		}
	})
	get := func(method, path string) string {
		cfg := httptool.Config{Method: method, URL: own + path, Headers: secrets, AllowAddresses: loopback}
		return invoke(t, newTool(t, cfg), `{}`)
	}
	if text := get("GET", "/inside"); text != "end" {
		t.Errorf("inside: %q", text)
	}
	r := last(atOwn())
	if r.uri != "/end?x=1" || r.header.Get("X-Api-Key") != "s3cret" || r.header.Get("Idempotency-Key") != "eff_1" {
		t.Errorf("inside: the same host got %+v", r)
	}
	for _, path := range []string{"/outside", "/and-back"} {
		get("GET", path)
		r := last(atOther())
		for name := range secrets {
			if r.header.Get(name) != "" {
				t.Errorf("%s: %s went to another host", path, name)
			}
		}
		if r.header.Get("Idempotency-Key") != "" || r.header.Get("Referer") != "" {
			t.Errorf("%s: another host got %v", path, r.header)
		}
	}
	if r := last(atOwn()); r.uri != "/end" || r.header.Get("Authorization") != "" || r.header.Get("X-Api-Key") != "" {
		t.Errorf("sent back by another host, with the tool's headers: %+v", r)
	}
	before := len(atOwn())
	text := get("GET", "/loop")
	if !strings.Contains(text, "HTTP 302 Found") || !strings.Contains(text, "number 6") || len(atOwn())-before != 6 {
		t.Errorf("loop: %q after %d requests", text, len(atOwn())-before)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		before, others := len(atOwn()), len(atOther())
		text := get(method, "/outside")
		if !strings.HasPrefix(text, "HTTP 301 Moved Permanently\nThe redirect to ") ||
			!strings.Contains(text, "only GET and HEAD") || !strings.Contains(text, "may have acted") ||
			len(atOwn())-before != 1 || len(atOther()) != others {
			t.Errorf("%s: %q", method, text)
		}
	}
}

func last(all []seen) seen { return all[len(all)-1] }

func TestRedirectOutOfTLS(t *testing.T) {
	t.Parallel()
	port, connections := victim(t)
	s := httptest.NewUnstartedServer(http.RedirectHandler("http://127.0.0.1:"+port+"/", http.StatusFound))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	s.StartTLS()
	t.Cleanup(s.Close)
	config := s.Client().Transport.(*http.Transport).TLSClientConfig
	tool := newTool(t, httptool.Config{Method: "GET", URL: s.URL, TLS: config, AllowAddresses: loopback})
	if text := invoke(t, tool, `{}`); !strings.Contains(text, "gives up encryption") || connections.Load() != 0 {
		t.Errorf("output %q", text)
	}
	untrusted := newTool(t, httptool.Config{Method: "POST", URL: s.URL})
	text := invoke(t, untrusted, `{}`)
	if !strings.Contains(text, "certificate") || !strings.Contains(text, "Nothing was sent") {
		t.Errorf("unknown certificate: %q", text)
	}
}

// Behind a proxy nothing could be checked, so a proxy in the environment is not used.
func TestProxyIsIgnored(t *testing.T) {
	port, connections := victim(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:"+port)
	}
	tool := newTool(t, httptool.Config{
		Method: "GET", URL: "http://public.example:1/", Resolver: resolver([4]byte{127, 0, 0, 1}),
	})
	if text := invoke(t, tool, `{}`); connections.Load() != 0 || !strings.Contains(text, "could not be reached") {
		t.Errorf("output %q, %d connections to the proxy", text, connections.Load())
	}
}
