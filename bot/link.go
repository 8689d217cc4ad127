package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxFrame bounds one delivery: a click brings the whole message or view with it.
const maxFrame = 4 << 20

// link is one WebSocket.
type link struct {
	s  *socket
	ws *websocket.Conn

	hello   chan struct{} // closed at hello
	leaving chan string   // Slack's reason for asking us to go, at most one
	gone    chan struct{} // closed at the end of reading; err is set before
	err     error
	once    sync.Once // hello
	deaf    bool      // Slack ended it for a reason after which nothing comes any more; read and written by run alone

	mu     sync.Mutex // one writer of data frames at a time
	expiry *time.Timer
}

func newLink(ws *websocket.Conn, s *socket) *link {
	return &link{s: s, ws: ws, hello: make(chan struct{}), leaving: make(chan string, 1), gone: make(chan struct{})}
}

// envelope is one delivery.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`

	Reason string `json:"reason"` // of a disconnect
	Info   struct {
		AppID string `json:"app_id"`
	} `json:"connection_info"` // of hello

	by *link
}

// read takes frames until the connection ends. It hands deliveries on without waiting for them, so that pings are
// always answered.
func (l *link) read() {
	defer close(l.gone)
	defer l.ws.Close()
	l.ws.SetReadLimit(maxFrame)
	l.alive()
	l.ws.SetPongHandler(func(string) error { l.alive(); return nil })
	l.ws.SetPingHandler(func(data string) error {
		l.alive()
		return ignoreTimeout(l.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(l.s.clock.write)))
	})
	for {
		_, frame, err := l.ws.ReadMessage()
		if err != nil {
			l.err = err
			return
		}
		l.alive()
		l.receive(frame)
	}
}

// ignoreTimeout lets a pong that could not be written in time pass: the read deadline decides.
func ignoreTimeout(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, websocket.ErrCloseSent) || errors.As(err, &timeout) && timeout.Timeout() {
		return nil
	}
	return err
}

// alive moves the moment at which silence means death.
func (l *link) alive() { _ = l.ws.SetReadDeadline(time.Now().Add(l.s.clock.silence)) }

func (l *link) receive(frame []byte) {
	var e envelope
	err := json.Unmarshal(frame, &e)
	switch {
	case err != nil && e.ID == "":
		l.s.log.Warn("socket mode: an unreadable frame", "bytes", len(frame))
	case e.Type == "hello":
		l.s.hello(e.Info.AppID)
		l.once.Do(func() { close(l.hello) })
	case e.Type == "disconnect":
		select {
		case l.leaving <- e.Reason:
		default:
		}
	case e.ID == "":
		l.s.log.Warn("socket mode: a frame without an envelope", "type", label(e.Type, 40))
	default:
		e.by = l
		l.s.deliver(e)
	}
}

// keepAlive pings until the connection ends.
func (l *link) keepAlive() {
	ticker := time.NewTicker(l.s.clock.ping)
	defer ticker.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-ticker.C:
			if l.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(l.s.clock.write)) != nil {
				l.ws.Close()
				return
			}
		}
	}
}

// write sends one frame.
func (l *link) write(raw []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(l.s.clock.write))
	return l.ws.WriteMessage(websocket.TextMessage, raw)
}

// open reports whether the connection still brings deliveries.
func (l *link) open() bool {
	if l == nil || l.deaf {
		return false
	}
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// retire closes a connection that was replaced, after the time for acknowledgements under way.
func (l *link) retire(after time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiry == nil {
		l.expiry = time.AfterFunc(after, l.close)
	}
}

// close says goodbye and ends the connection. Slack does not close its end, so nothing is waited for.
func (l *link) close() {
	if l == nil {
		return
	}
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = l.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(l.s.clock.write))
	l.ws.Close()
}

// dialError describes a failed dial without the address, which holds a ticket.
func dialError(err error, resp *http.Response) error {
	err = withoutAddress(err)
	if resp != nil {
		return fmt.Errorf("dial: HTTP %d: %w", resp.StatusCode, err)
	}
	return fmt.Errorf("dial: %w", err)
}
