package mcptoolset

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxMessage bounds one message of a server.
const maxMessage = 16 << 20

// exchange is one request as it was on the wire. The library decodes results into forms that lose the order of members
// and the digits of numbers, and does not tell what was sent; so the transports note both in the exchange that the
// request's context carries.
type exchange struct {
	call   bool         // it has an effect, and is sent once and to one place
	sent   atomic.Bool  // something may have reached the server
	status atomic.Int32 // the HTTP status of the request itself, if any

	mu       sync.Mutex
	id       jsonrpc.ID
	response *jsonrpc.Response
	bodies   []*recording
	forget   func() // ends the wait for a response
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// end is called when nobody waits for the response any more.
func (x *exchange) end() {
	x.mu.Lock()
	forget := x.forget
	x.mu.Unlock()
	if forget != nil {
		forget()
	}
}

// answer is the server's response, or nil as long as there is none.
func (x *exchange) answer() *jsonrpc.Response {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range x.bodies {
		if x.response == nil {
			x.response = b.find(x.id)
		}
	}
	return x.response
}

// record keeps what is read of a body, to be searched for the response.
func (x *exchange) record(res *http.Response) {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	b := &recording{body: res.Body, events: kind == "text/event-stream"}
	res.Body = b
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bodies = append(x.bodies, b)
}

// recording is a body that remembers what was read of it.
type recording struct {
	body   io.ReadCloser
	events bool // server-sent events, else one message

	mu   sync.Mutex
	read bytes.Buffer
}

func (b *recording) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.Len() < maxMessage+64<<10 {
		b.read.Write(p[:n])
	}
	return n, err
}

func (b *recording) Close() error { return b.body.Close() }

// find returns the response to the request with the id, or nil.
func (b *recording) find(id jsonrpc.ID) *jsonrpc.Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.events {
		return responseTo(id, b.read.Bytes())
	}
	for data := range eventData(b.read.Bytes()) {
		if r := responseTo(id, data); r != nil {
			return r
		}
	}
	return nil
}

func responseTo(id jsonrpc.ID, data []byte) *jsonrpc.Response {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil
	}
	if r, ok := msg.(*jsonrpc.Response); ok && r.ID == id {
		return r
	}
	return nil
}

// eventData yields the data of each event of a stream of server-sent events, and what there is of the last one.
func eventData(stream []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var data []byte
		for line := range bytes.Lines(stream) {
			line = bytes.TrimRight(line, "\r\n")
			if len(line) == 0 {
				if len(data) > 0 && !yield(data) {
					return
				}
				data = nil
				continue
			}
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if data != nil {
					data = append(data, '\n')
				}
				data = append(data, bytes.TrimSpace(value)...)
			}
		}
		if len(data) > 0 {
			yield(data)
		}
	}
}
