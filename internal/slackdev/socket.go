package slackdev

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxConnections = 10
	maxAckFrame    = 20 << 10 // larger answers are lost without a word
	socketHost     = "applink-dev-1"
	rotationGrace  = 10 * time.Second // between a disconnect frame and the end of the connection
)

// socketHub is the Socket Mode side of a workspace.
type socketHub struct {
	conns   []*socketConn
	opened  int
	turn    int
	tickets map[string]bool
	pending map[string]*pendingAck // by envelope id
}

type pendingAck struct {
	flight  *flight
	accepts bool
}

// socketConn is one WebSocket of the app. w.mu guards out and draining.
type socketConn struct {
	id       int
	ws       *websocket.Conn
	out      []any // frames to write; nil means close
	wake     chan struct{}
	draining bool
	gone     chan struct{}
}

func (c *socketConn) push(frame any) {
	c.out = append(c.out, frame)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// serveSocket is the address handed out by apps.connections.open.
func (w *Workspace) serveSocket(rw http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	w.mu.Lock()
	valid := w.sock.tickets[ticket]
	delete(w.sock.tickets, ticket)
	w.mu.Unlock()
	if !valid {
		http.Error(rw, "invalid ticket", http.StatusUnauthorized)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	conn, ok := w.admit(ws, r.URL.Query().Get("debug_reconnects") == "true")
	if !ok {
		return
	}
	w.wg.Go(func() { w.writeLoop(conn) })
	w.readLoop(conn)
	w.forget(conn)
	w.lingerOrClose(conn)
}

// admit says hello, or sends away the eleventh connection.
func (w *Workspace) admit(ws *websocket.Conn, short bool) (*socketConn, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil {
		ws.Close()
		return nil, false
	}
	conn := &socketConn{ws: ws, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	if len(w.sock.conns) >= maxConnections {
		ws.WriteJSON(disconnectFrame("too_many_websockets"))
		ws.Close()
		return nil, false
	}
	w.sock.opened++
	conn.id = w.sock.opened
	w.sock.conns = append(w.sock.conns, conn)
	lifetime := 18060
	if short {
		lifetime = 360
	}
	conn.push(map[string]any{
		"type": "hello", "num_connections": len(w.sock.conns),
		"debug_info": map[string]any{
			"host": socketHost, "build_number": 10, "approximate_connection_time": lifetime,
		},
		"connection_info": map[string]any{"app_id": w.cfg.App.ID},
	})
	if w.linkOff {
		w.dismiss(conn, "link_disabled")
	}
	w.touch()
	return conn, true
}

func (w *Workspace) forget(conn *socketConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(conn.gone)
	w.sock.conns = slices.DeleteFunc(w.sock.conns, func(c *socketConn) bool { return c == conn })
	w.touch()
}

// lingerOrClose ends the TCP connection, at once or when the client does.
func (w *Workspace) lingerOrClose(conn *socketConn) {
	if w.cfg.LingerAfterClose {
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-w.life.Done():
				conn.ws.Close()
			case <-stop:
			}
		}()
		io.Copy(io.Discard, conn.ws.NetConn())
	}
	conn.ws.Close()
}

// writeLoop is the only writer of data frames; it also sends the PINGs.
func (w *Workspace) writeLoop(conn *socketConn) {
	ping := time.NewTicker(w.cfg.PingEvery)
	defer ping.Stop()
	for {
		select {
		case <-conn.gone:
			return
		case <-ping.C:
			conn.ws.WriteControl(websocket.PingMessage, []byte("Ping from "+socketHost), time.Now().Add(time.Second))
		case <-conn.wake:
			if !w.flush(conn) {
				return
			}
		}
	}
}

// flush writes what is queued and reports whether the connection goes on.
func (w *Workspace) flush(conn *socketConn) bool {
	for {
		w.mu.Lock()
		if len(conn.out) == 0 {
			w.mu.Unlock()
			return true
		}
		frame := conn.out[0]
		conn.out = conn.out[1:]
		w.mu.Unlock()
		if frame == nil {
			deadline := time.Now().Add(time.Second)
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			conn.ws.WriteControl(websocket.CloseMessage, bye, deadline)
			conn.ws.Close()
			return false
		}
		conn.ws.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if err := conn.ws.WriteJSON(frame); err != nil {
			conn.ws.Close()
			return false
		}
	}
}

// readLoop takes acknowledgements until the connection ends.
func (w *Workspace) readLoop(conn *socketConn) {
	for {
		_, frame, err := conn.ws.ReadMessage()
		if err != nil {
			return
		}
		if len(frame) >= maxAckFrame {
			w.log.Warn("slackdev dropped an acknowledgement of 20 KiB or more", "bytes", len(frame))
			continue
		}
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(frame, &ack); err != nil {
			w.log.Warn("slackdev received a frame that is no acknowledgement", "error", err)
			continue
		}
		w.acknowledge(ack.EnvelopeID, ack.Payload)
	}
}

// acknowledge settles the envelope, whichever connection it was sent on.
func (w *Workspace) acknowledge(envelopeID string, payload json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.sock.pending[envelopeID]
	if !ok {
		return
	}
	if !p.accepts {
		payload = nil
	}
	w.settle(p.flight, outcome{ack: payload})
}

// launchSocket hands an envelope to one connection, in turn. w.mu is held.
func (w *Workspace) launchSocket(env envelope, f *flight) {
	conn := w.pick()
	if conn == nil {
		w.settle(f, outcome{err: errNoConnection})
		return
	}
	f.record.Conn = conn.id
	w.sock.pending[f.record.ID] = &pendingAck{flight: f, accepts: env.accepts}
	frame := map[string]any{
		"envelope_id": f.record.ID, "type": env.kind, "payload": env.payload,
		"accepts_response_payload": env.accepts,
	}
	if env.kind == kindEvent {
		frame["retry_attempt"] = env.attempt
		frame["retry_reason"] = env.reason
	}
	conn.push(frame)
}

func (w *Workspace) pick() *socketConn {
	for range w.sock.conns {
		w.sock.turn++
		if c := w.sock.conns[w.sock.turn%len(w.sock.conns)]; !c.draining {
			return c
		}
	}
	return nil
}

// Disconnect sends a disconnect frame on every connection, with one of Slack's
// reasons. After "refresh_requested" a connection gets no more envelopes and is
// closed ten seconds later unless the app was quicker; after "warning" it still
// gets envelopes during these seconds. "link_disabled" also sends away every
// later connection until EnableSocketMode; it and "too_many_websockets" close at
// once.
func (w *Workspace) Disconnect(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reason == "link_disabled" {
		w.linkOff = true
	}
	for _, conn := range w.sock.conns {
		w.dismiss(conn, reason)
	}
	w.touch()
}

// EnableSocketMode undoes Disconnect("link_disabled").
func (w *Workspace) EnableSocketMode() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.linkOff = false
}

// dismiss announces the end of one connection. w.mu is held.
func (w *Workspace) dismiss(conn *socketConn, reason string) {
	conn.push(disconnectFrame(reason))
	switch reason {
	case "warning", "refresh_requested":
		conn.draining = conn.draining || reason == "refresh_requested"
		w.wg.Go(func() { w.closeLater(conn) })
	default:
		conn.draining = true
		conn.push(nil)
	}
}

func (w *Workspace) closeLater(conn *socketConn) {
	timer := time.NewTimer(rotationGrace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-conn.gone:
		return
	case <-w.life.Done():
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	conn.push(nil)
}

// DropConnections cuts every Socket Mode connection without a closing handshake.
// None of them counts or gets an envelope afterwards.
func (w *Workspace) DropConnections() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.sock.conns {
		conn.ws.NetConn().Close()
	}
	w.sock.conns = nil
	w.touch()
}

func disconnectFrame(reason string) map[string]any {
	return map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": socketHost}}
}
