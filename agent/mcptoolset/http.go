package mcptoolset

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"countersign/agent/internal/oneline"
	"countersign/agent/internal/plainhttp"
)

const maxRedirects = 5

// httpTransport sends the requests of one session, with the operator's headers, to the host that the operator wrote and
// to no other: wherever a server's answer or redirect leads, the headers do not go.
type httpTransport struct {
	*declared
	base    *http.Transport
	streams *streams
	moved   atomic.Pointer[url.URL] // where the server sent another request than a call
	astray  atomic.Pointer[error]   // why a request was not sent where the server wanted it
}

// newHTTPClient returns the client of one session. Proxy settings of the environment are ignored, as for HTTP tools.
func newHTTPClient(d *declared, s *streams) *http.Client {
	t := &httpTransport{declared: d, streams: s, base: &http.Transport{
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 256 << 10,
		IdleConnTimeout:        30 * time.Second,
	}}
	return &http.Client{Transport: t, CheckRedirect: t.redirect}
}

// redirect follows to another path on the same host, for a server that wants a slash at the end. A call is not sent to
// two places: it goes where the requests before it were sent.
func (t *httpTransport) redirect(next *http.Request, via []*http.Request) error {
	x := exchangeOf(next.Context())
	switch {
	case x != nil && x.call:
		return errors.New("a redirect of a call is not followed: the call may have been carried out")
	case len(via) > maxRedirects:
		return fmt.Errorf("redirected %d times", len(via))
	case !sameHost(t.url, next.URL):
		return fmt.Errorf("the redirect to %s is not followed; write that address if it is right",
			oneline.Of(next.URL.Host, 200))
	case next.Method != via[0].Method:
		return fmt.Errorf("a redirect that turns %s into %s is not followed; write the address it leads to",
			via[0].Method, next.Method)
	}
	if next.Method == http.MethodPost {
		t.moved.Store(next.URL)
	}
	return nil
}

func sameHost(written, u *url.URL) bool {
	return written.Scheme == u.Scheme && strings.EqualFold(written.Host, u.Host)
}

func (t *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sameHost(t.url, r.URL) {
		closeBody(r)
		err := fmt.Errorf("the server sends us to %s, where we do not go", oneline.Of(r.URL.Host, 200))
		t.astray.Store(&err)
		return nil, err
	}
	x := exchangeOf(r.Context())
	ctx := r.Context()
	if x != nil {
		if err := x.begin(r); err != nil {
			closeBody(r)
			return nil, err
		}
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
		})
	}
	own := r.Clone(ctx)
	for key, values := range t.header {
		own.Header[key] = values
	}
	own.Host = t.host
	if x != nil && x.call {
		own.GetBody = nil // without it the transport cannot send the body a second time
		if to := t.moved.Load(); to != nil && r.URL.String() == t.url.String() {
			own.URL = to
		}
	}
	res, err := plainhttp.Answer(t.base.RoundTrip(own))
	if err != nil {
		return nil, err
	}
	events := isEventStream(res)
	if !events {
		res.Body = &limitedBody{ReadCloser: res.Body, left: maxMessage}
	}
	switch {
	case x != nil:
		if r.Method == http.MethodPost { // a GET asks for the rest of an answer: the request had been taken before
			x.status.Store(int32(res.StatusCode))
		}
		x.record(res)
	case events && res.StatusCode == http.StatusOK:
		res.Body = t.streams.open(res.Body)
	}
	return res, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

func isEventStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// begin notes which request the exchange is about.
func (x *exchange) begin(r *http.Request) error {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil // the rest of a response, asked for again
	}
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.id = req.ID
	}
	return nil
}

var errTooLarge = errors.New("the server's answer is larger than 16 MiB")

// limitedBody is a body of at most so many bytes; more is an error and not an end.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// streams counts the streams on which a server can tell us something unasked, such as that its tools have changed.
type streams struct {
	mu    sync.Mutex
	count int
	ended func() // called after each end of a stream
}

func (s *streams) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count > 0
}

func (s *streams) open(body io.ReadCloser) io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return &streamBody{ReadCloser: body, end: sync.OnceFunc(s.end)}
}

func (s *streams) end() {
	s.mu.Lock()
	s.count--
	s.mu.Unlock()
	s.ended()
}

type streamBody struct {
	io.ReadCloser
	end func()
}

func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *streamBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// wentAstray returns why a request of the client was not sent to another host; nil: all went where they should.
func wentAstray(c *http.Client) error {
	if t, ok := c.Transport.(*httpTransport); ok {
		if err := t.astray.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// idle gives up the connections that nobody uses.
func idle(c *http.Client) {
	if t, ok := c.Transport.(*httpTransport); ok {
		t.base.CloseIdleConnections()
	}
}
