package bot

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// line is Slack's end of Socket Mode inside a synctest bubble: pipes take the place of the network, so that the bot's
// real clocks run and nothing depends on how busy the machine is.
type line struct {
	t       *testing.T
	bot     *Bot
	service *fakeService
	logs    *logs
	greet   func(*websocket.Conn) // talks to a new connection before it is read

	mu     sync.Mutex
	opened int               // how often an address was asked for
	conns  []*websocket.Conn // those that are open, the newest last
}

// newLine runs a bot in Socket Mode until the end of the test. It must be called in a bubble.
func newLine(t *testing.T, greet func(*websocket.Conn)) *line {
	t.Helper()
	l := &line{t: t, service: newFakeService(), logs: &logs{}, greet: greet}
	client, err := NewClient(ClientConfig{Token: "xoxb-test", APIURL: "http://slack.test/api/"})
	if err != nil {
		t.Fatal(err)
	}
	client.identity = &identity{workspace: testWorkspace, team: string(testWorkspace), botUser: "U0BOT"}
	l.bot, err = New(Config{
		Client: client, Service: l.service, AppToken: "xapp-test", DefaultAgent: "ops",
		Logger: slog.New(slog.NewTextHandler(l.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.bot.socket.open = func(context.Context) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.opened++
		return "ws://slack.test/link", nil
	}
	l.bot.socket.dialer.NetDialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go l.serve(theirs)
		return ours, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.bot.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return l
}

func hello(ws *websocket.Conn) {
	_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello"}`))
}

// deaf says hello, takes everything and answers nothing.
func deaf(ws *websocket.Conn) {
	hello(ws)
	_, _ = io.Copy(io.Discard, ws.NetConn())
}

func disconnect(reason string) []byte {
	return []byte(`{"type":"disconnect","reason":"` + reason + `"}`)
}

// serve answers one connection until it ends.
func (l *line) serve(pipe net.Conn) {
	defer pipe.Close()
	buffered := bufio.NewReadWriter(bufio.NewReader(pipe), bufio.NewWriter(pipe))
	r, err := http.ReadRequest(buffered.Reader)
	if err != nil {
		return
	}
	ws, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(upgrade{pipe, buffered}, r, nil)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, ws)
	greet := l.greet
	l.mu.Unlock()
	greet(ws)
	for err = nil; err == nil; {
		_, _, err = ws.ReadMessage() // answers pings
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.conns {
		if c == ws {
			l.conns = append(l.conns[:i:i], l.conns[i+1:]...)
			return
		}
	}
}

// upgrade is an http.ResponseWriter that can only be hijacked.
type upgrade struct {
	conn     net.Conn
	buffered *bufio.ReadWriter
}

func (upgrade) Header() http.Header       { return http.Header{} }
func (upgrade) Write([]byte) (int, error) { return 0, http.ErrHijacked }
func (upgrade) WriteHeader(int)           {}
func (u upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return u.conn, u.buffered, nil
}

// say sends a frame on the newest connection and waits for all that comes of it at once.
func (l *line) say(frame []byte) {
	l.t.Helper()
	l.mu.Lock()
	newest := l.conns[len(l.conns)-1]
	l.mu.Unlock()
	if err := newest.WriteMessage(websocket.TextMessage, frame); err != nil {
		l.t.Fatal(err)
	}
	synctest.Wait()
}

// drop ends every connection without a word.
func (l *line) drop() {
	l.mu.Lock()
	for _, c := range l.conns {
		c.NetConn().Close()
	}
	l.mu.Unlock()
	synctest.Wait()
}

// meet changes what new connections hear.
func (l *line) meet(greet func(*websocket.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greet = greet
}

// attempts says how often the bot asked for an address.
func (l *line) attempts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// expect compares how often the bot asked for an address, how many connections are open, and whether it is ready.
func (l *line) expect(when string, opened, open int, ready bool) {
	l.t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != opened || len(l.conns) != open || l.bot.Ready() != ready {
		l.t.Errorf("%s: %d addresses asked for, %d connections, ready %v; want %d, %d, %v\n%s",
			when, l.opened, len(l.conns), l.bot.Ready(), opened, open, ready, l.logs)
	}
}

// wait lets the bubble's time pass.
func (l *line) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
