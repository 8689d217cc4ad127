package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one connection to a server.
type session struct {
	client  *mcp.ClientSession
	process *process     // of a server that was started here, else nil
	http    *http.Client // of a server behind a URL, else nil
	streams streams

	announces bool         // the server says that it tells when its tools change
	changed   atomic.Int64 // counts the times that they may have changed
	broken    atomic.Bool  // no new requests go here
}

// tells reports whether the server can tell us now that its tools have changed.
func (s *session) tells() bool {
	return s.announces && (s.process != nil || s.streams.any())
}

// legacyProtocol is tried first: nearly every server speaks it, and some end the connection when they hear anything
// else before.
const legacyProtocol = "2025-11-25"

var errConnectTimeout = errors.New("the server did not answer in time")

// dial makes a connection.
func (s *Server) dial(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.ConnectTimeout, errConnectTimeout)
	defer cancel()
	sess, err := s.handshake(ctx, legacyProtocol)
	_, answered := errors.AsType[*jsonrpc.Error](err)
	if err == nil || ctx.Err() != nil || s.transport == stdio && !answered {
		return sess, err
	}
	return s.handshake(ctx, "") // tries the newest first, and then what was tried already
}

// handshake makes a connection with the version of the protocol, or the newest. The session lives on when ctx has
// ended.
func (s *Server) handshake(ctx context.Context, version string) (_ *session, err error) {
	sess := &session{}
	sess.streams.ended = func() { sess.changed.Add(1) }
	transport, err := s.newTransport(ctx, sess)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	sess.client, err = s.newClient(sess).Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
		s.running.Go(func() { _ = sess.client.Close() })
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		err = sess.explain(err)
		end(err)
		s.running.Go(sess.clear)
		return nil, err
	}
	if caps := sess.client.InitializeResult().Capabilities; caps != nil && caps.Tools != nil {
		sess.announces = caps.Tools.ListChanged
	}
	s.running.Go(func() { // ends when the connection has
		_ = sess.client.Wait()
		sess.broken.Store(true)
		end(errBroken)
		sess.clear()
	})
	return sess, nil
}

// newTransport is how the session's server is reached. A server with a command is started.
func (s *Server) newTransport(ctx context.Context, sess *session) (mcp.Transport, error) {
	switch s.transport {
	case stdio:
		p, err := s.start(ctx)
		if err != nil {
			return nil, err
		}
		sess.process = p
		s.running.Go(p.wait)
		return &recordingTransport{pipe: true, Transport: &mcp.IOTransport{
			Reader: newMessageReader(p.stdout, s.noise), Writer: stdinWriter{p}, MaxLineLength: maxMessage,
		}}, nil
	case sse:
		sess.http = newHTTPClient(s.declared, &sess.streams)
		return &recordingTransport{Transport: &mcp.SSEClientTransport{
			Endpoint: s.url.String(), HTTPClient: sess.http, MaxEventSize: maxMessage,
		}}, nil
	default:
		sess.http = newHTTPClient(s.declared, &sess.streams)
		return &mcp.StreamableClientTransport{
			Endpoint: s.url.String(), HTTPClient: sess.http, MaxEventSize: maxMessage,
		}, nil
	}
}

// noise logs what a server wrote to its standard output that is no message.
func (s *Server) noise(line []byte, last bool) {
	s.Logger.Warn("an MCP server writes to its standard output what is no message; it is ignored", "line",
		s.say(string(line)), "more_are_not_logged", last)
}

func (s *Server) newClient(sess *session) *mcp.Client {
	client := mcp.NewClient(&mcp.Implementation{Name: "countersign", Version: s.Version}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{}, // no roots, no sampling, no elicitation
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { sess.changed.Add(1) },
	})
	client.AddReceivingMiddleware(refuseRequests)
	client.AddSendingMiddleware(rememberNothing)
	return client
}

// rememberNothing has the library ask for the tools when it is told to, even if the server says that an earlier answer
// will do: whether that is so is decided here.
func rememberNothing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

// refuseRequests answers nothing that a server asks but whether anybody is there.
func refuseRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		return nil, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "requests of servers are not answered here",
		}
	}
}

// clear gives up what the connection held. For a server that was started here it returns when that has ended.
func (s *session) clear() {
	if s.process != nil {
		s.process.stop()
	}
	if s.http != nil {
		idle(s.http)
	}
}

// explain adds to an error what became of the server's program. The end of its output is noticed first, so its own end
// is waited for, a moment. Of a server behind a URL it says when it wanted requests to go elsewhere: the connection is
// closed for that, and which of the two the library hears of first is a matter of chance.
func (s *session) explain(err error) error {
	if s.http != nil {
		if why := wentAstray(s.http); why != nil && !strings.Contains(err.Error(), why.Error()) {
			return fmt.Errorf("%w (%w)", why, err)
		}
	}
	if s.process == nil {
		return err
	}
	select {
	case <-s.process.exited:
	case <-time.After(exitGrace / 4):
	}
	if problem := s.process.problem(); problem != "" {
		return fmt.Errorf("%s (%w)", problem, err)
	}
	return err
}
