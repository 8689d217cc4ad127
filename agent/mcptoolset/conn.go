package mcptoolset

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recordingTransport notes requests and their responses in the exchanges of the requests' contexts. It is for
// transports whose responses come on one stream; the library does not let it be put around streamable HTTP, where each
// request's own body is recorded instead.
type recordingTransport struct {
	mcp.Transport
	pipe bool // a message that was written counts as sent
}

func (t *recordingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordingConn{Connection: conn, pipe: t.pipe, open: make(map[jsonrpc.ID]*exchange)}, nil
}

type recordingConn struct {
	mcp.Connection
	pipe bool

	mu   sync.Mutex
	open map[jsonrpc.ID]*exchange
}

func (c *recordingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	x := exchangeOf(ctx)
	req, ok := msg.(*jsonrpc.Request)
	if x == nil || !ok || !req.IsCall() {
		return c.Connection.Write(ctx, msg)
	}
	c.mu.Lock()
	c.open[req.ID] = x
	c.mu.Unlock()
	x.mu.Lock()
	x.forget = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, req.ID)
	}
	x.mu.Unlock()
	err := c.Connection.Write(ctx, msg)
	if c.pipe {
		partial, ok := errors.AsType[*partialWriteError](err)
		x.sent.Store(err == nil || ok && partial.written > 0)
	}
	return err
}

func (c *recordingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	response, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok {
		return msg, err
	}
	c.mu.Lock()
	x := c.open[response.ID]
	delete(c.open, response.ID)
	c.mu.Unlock()
	if x != nil {
		x.mu.Lock()
		x.response = response
		x.mu.Unlock()
	}
	return msg, nil
}
