package slackdev

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Workspace is a running Slack workspace. All methods are safe for concurrent
// use; snapshots they return are not changed afterwards.
type Workspace struct {
	cfg    Config
	log    *slog.Logger
	kit    *blockKit
	server *http.Server
	ln     net.Listener
	client *http.Client // HTTP deliveries
	life   *life
	wg     sync.WaitGroup // deliveries under way

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	version int

	ids    idSource
	users  map[string]*User
	order  []string // user ids as configured
	convs  map[string]*conversation
	corder []string // conversation ids in order of creation
	groups []UserGroup

	ephemerals map[string][]*Message // by the person who sees them
	views      map[string]*View
	stacks     map[string][]string // open modals of a person, the top one last
	homes      map[string]string   // Home view of a person

	triggers  map[string]*trigger
	responses map[string]*responseURL
	statuses  map[string]string    // "channel/thread" -> what the app says it is doing
	stated    map[string]time.Time // when it said so
	sessions  map[string]string    // "channel/thread" -> the state of the agent's session, unless it is active
	chats     map[string]*Chat     // "channel/thread" -> a chat of the assistant's panel

	sock    socketHub
	events  map[string]*event
	urls    RequestURLs
	files   map[string]*File // by id
	fetched []string         // ids of files that were asked for
	revoked bool
	token   string // the bot token in force
	removed bool   // the app is not installed: see Cloud
	linkOff bool
	faults  []*Fault
	late    int // see LateAnswers
	limits  map[string][]time.Time
	calls   []*Call
	sent    []*Delivery

	attention attention // who was called to what
	instance  string    // tells this workspace from one before it on the same address
}

// conversation is a channel or a direct message with what was said in it.
type conversation struct {
	Channel
	im       string // the person of a direct message
	messages []*Message
	byTS     map[string]*Message
}

// Start opens the workspace on its address and serves until Close.
func Start(cfg Config) (*Workspace, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("slackdev config: %w", err)
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("slackdev listen: %w", err)
	}
	w := newWorkspace(cfg, ln)
	w.server = &http.Server{
		Handler: w.routes(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	w.wg.Go(func() {
		if err := w.server.Serve(ln); err != http.ErrServerClosed {
			w.log.Error("slackdev server", "error", err)
		}
	})
	return w, nil
}

// newWorkspace returns a workspace that is reached at ln, which somebody serves.
func newWorkspace(cfg Config, ln net.Listener) *Workspace {
	w := &Workspace{
		cfg: cfg, token: cfg.BotToken, log: cfg.Logger, kit: newBlockKit(), ln: ln, urls: cfg.RequestURL,
		client: &http.Client{Timeout: cfg.AckTimeout, CheckRedirect: atMostTwoRedirects},
		life:   newLife(), changed: make(chan struct{}),
		users: map[string]*User{}, convs: map[string]*conversation{},
		groups: append([]UserGroup(nil), cfg.UserGroups...), ephemerals: map[string][]*Message{},
		views: map[string]*View{}, stacks: map[string][]string{}, homes: map[string]string{},
		triggers: map[string]*trigger{}, responses: map[string]*responseURL{}, statuses: map[string]string{},
		stated:   map[string]time.Time{},
		sessions: map[string]string{}, chats: map[string]*Chat{}, files: map[string]*File{},
		events: map[string]*event{}, limits: map[string][]time.Time{}, instance: shortID(),
	}
	w.sock.pending = map[string]*pendingAck{}
	w.sock.tickets = map[string]bool{}
	w.populate()
	return w
}

// populate enters the configured users and channels.
func (w *Workspace) populate() {
	for _, u := range w.cfg.Users {
		w.putUser(u)
	}
	for _, ch := range w.cfg.Channels {
		w.putChannel(ch)
	}
}

// URL is the address of the web page.
func (w *Workspace) URL() string { return "http://" + w.ln.Addr().String() + "/" }

// APIURL is the base of the Web API; it ends in /api/.
func (w *Workspace) APIURL() string { return w.URL() + "api/" }

// Config is the configuration in force, defaults filled in.
func (w *Workspace) Config() Config { return w.cfg }

// Close stops the server, drops every connection and waits for what was under
// way. Redeliveries that were still due are given up.
func (w *Workspace) Close() error {
	w.mu.Lock()
	w.life.end()
	for _, c := range w.sock.conns {
		c.ws.Close()
	}
	w.touch()
	w.mu.Unlock()
	var err error
	if w.server != nil { // else its Cloud's serves it
		err = w.server.Close()
	}
	w.client.CloseIdleConnections()
	w.wg.Wait()
	if err != nil {
		return fmt.Errorf("slackdev close: %w", err)
	}
	return nil
}

// WaitFor returns once cond holds. It evaluates cond again after every change
// of the workspace, without polling; cond may call the reading methods.
func (w *Workspace) WaitFor(ctx context.Context, cond func() bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-w.life.Done():
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("wait for workspace: %w", context.Cause(ctx))
		}
	}
}

// touch tells everybody who waits that something changed. w.mu is held.
func (w *Workspace) touch() {
	w.version++
	close(w.changed)
	w.changed = make(chan struct{})
}

// Messages lists the channel's messages, oldest first, replies included,
// ephemeral ones not.
func (w *Workspace) Messages(channel string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.convs[channel]
	if !ok {
		return nil
	}
	return snapshots(c.messages, func(*Message) bool { return true })
}

// Thread lists a thread, its parent first.
func (w *Workspace) Thread(channel, ts string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.convs[channel]
	if !ok {
		return nil
	}
	return snapshots(c.messages, func(m *Message) bool { return m.TS == ts || m.ThreadTS == ts })
}

// Message returns one message, ephemeral ones included.
func (w *Workspace) Message(channel, ts string) (Message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.findMessage(channel, ts, ""); m != nil {
		return *m, true
	}
	return Message{}, false
}

// Ephemerals lists what only this person sees, oldest first.
func (w *Workspace) Ephemerals(user string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return snapshots(w.ephemerals[user], func(*Message) bool { return true })
}

// Views lists the person's open modals, the top one last.
func (w *Workspace) Views(user string) []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []View
	for _, id := range w.stacks[user] {
		out = append(out, *w.views[id])
	}
	return out
}

// HomeView is the person's App Home, nil while the app has not published one.
func (w *Workspace) HomeView(user string) *View {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.views[w.homes[user]]
	if !ok {
		return nil
	}
	snapshot := *v
	return &snapshot
}

// Status is what the app says it is doing in a thread (assistant.threads.setStatus
// or agents.sessions.setStatus), empty for nothing.
func (w *Workspace) Status(channel, threadTS string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status, ok := w.status(channel + "/" + threadTS); ok {
		return status
	}
	return w.sessions[channel+"/"+threadTS]
}

// status is what the app says it is doing, unless it said so too long ago. w.mu is held.
func (w *Workspace) status(key string) (string, bool) {
	status, ok := w.statuses[key]
	return status, ok && time.Since(w.stated[key]) < w.cfg.StatusLife
}

// Calls lists the requests the app made.
func (w *Workspace) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Call, len(w.calls))
	for i, c := range w.calls {
		out[i] = *c
	}
	return out
}

// Deliveries lists the attempts to hand payloads to the app.
func (w *Workspace) Deliveries() []Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Delivery, len(w.sent))
	for i, d := range w.sent {
		out[i] = *d
	}
	return out
}

// Connections counts the Socket Mode connections that said hello and are open.
func (w *Workspace) Connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sock.conns)
}

func snapshots(messages []*Message, keep func(*Message) bool) []Message {
	var out []Message
	for _, m := range messages {
		if keep(m) {
			out = append(out, *m)
		}
	}
	return out
}

// findMessage looks in the channel and then among the ephemerals, those of one
// person when viewer is given. w.mu is held.
func (w *Workspace) findMessage(channel, ts, viewer string) *Message {
	if c, ok := w.convs[channel]; ok {
		if m, ok := c.byTS[ts]; ok {
			return m
		}
	}
	for user, list := range w.ephemerals {
		if viewer != "" && user != viewer {
			continue
		}
		for _, m := range list {
			if m.Channel == channel && m.TS == ts {
				return m
			}
		}
	}
	return nil
}

// encode marshals what is known to be JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("slackdev: encode %T: %v", v, err)) // only maps and strings reach this
	}
	return raw
}
