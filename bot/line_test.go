package bot

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"countersign/approvals"
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
	refuse error             // the answer to who asks for one
	acked  []string          // envelopes
	said   []ephemeral       // chat.postEphemeral
	conns  []*websocket.Conn // those that are open, the newest last
}

// newLine runs a bot in Socket Mode until the end of the test. It must be called in a bubble.
func newLine(t *testing.T, greet func(*websocket.Conn)) *line {
	t.Helper()
	l := &line{t: t, service: newFakeService(), logs: &logs{}, greet: greet}
	l.service.directory = members{}
	client, err := NewClient(ClientConfig{
		Token: "xoxb-test", APIURL: "http://slack.test/api/",
		HTTPClient: &http.Client{Transport: webAPI{l}, Timeout: 10 * time.Second},
	})
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
		if l.opened++; l.opened > 1000 { // time stands still while a bot asks without a pause
			return "", errors.New("asked for far too often")
		}
		return "ws://slack.test/link", l.refuse
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
	upgrader := &websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(upgrade{pipe, buffered}, r, nil)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, ws)
	greet := l.greet
	l.mu.Unlock()
	greet(ws)
	for {
		_, frame, err := ws.ReadMessage() // answers pings
		if err != nil {
			break
		}
		l.acknowledged(frame)
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

func (l *line) acknowledged(frame []byte) {
	var e struct {
		ID string `json:"envelope_id"`
	}
	if err := json.Unmarshal(frame, &e); err != nil {
		l.t.Errorf("the bot says %s: %v", frame, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, e.ID)
}

// acks lists the envelopes that were acknowledged.
func (l *line) acks() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.acked)
}

// told lists what only this person was shown.
func (l *line) told(user string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, said := range l.said {
		if said.User == user {
			out = append(out, said.Text)
		}
	}
	return out
}

// ephemeral is a message to one person.
type ephemeral struct {
	User string `json:"user"`
	Text string `json:"text"`
}

// webAPI is the Web API of a line. It takes private messages.
type webAPI struct{ l *line }

func (w webAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/"+methodEphemeral {
		w.l.t.Errorf("the bot calls %s", r.URL.Path)
	}
	var said ephemeral
	if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
		return nil, err
	}
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.said = append(w.l.said, said)
	body := io.NopCloser(strings.NewReader(`{"ok":true}`))
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

// members is a directory in which everybody is a member of the workspace.
type members struct{ approvals.Directory }

func (members) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
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
	if l.opened != opened || len(l.conns) != open || isReady(l.bot.Ready()) != ready {
		l.t.Errorf("%s: %d addresses asked for, %d connections, ready %v; want %d, %d, %v\n%s",
			when, l.opened, len(l.conns), isReady(l.bot.Ready()), opened, open, ready, l.logs)
	}
}

// wait lets the bubble's time pass.
func (l *line) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
