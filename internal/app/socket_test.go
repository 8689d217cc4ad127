package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// between stands between commands and the bot, in the place of the control socket.
type between struct {
	bot   *http.Client  // reaches the bot itself
	body  atomic.Value  // of the newest decision, as []byte
	came  atomic.Int32  // decisions
	lose  atomic.Bool   // the next decision is not handed on
	mute  atomic.Bool   // the next decision is handed on, and its answer is not
	front *http.Server  // what commands reach
	ended chan struct{} // closed when it has
}

// newSocketWorld is a world whose sockets are in a folder of its own, with a name that is short enough for them.
func newSocketWorld(t *testing.T) *world {
	t.Helper()
	folder, err := os.MkdirTemp("", "countersign-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return newWorld(t, settings{env: []string{"XDG_RUNTIME_DIR=" + folder}})
}

// socket is where commands reach the running bot.
func (w *world) socket() string {
	w.t.Helper()
	if w.store == "" {
		return filepath.Join(w.dir, "countersign.db.sock")
	}
	folder := strings.TrimPrefix(w.extra[0], "XDG_RUNTIME_DIR=")
	all, err := filepath.Glob(filepath.Join(folder, "countersign", "*.sock"))
	if err != nil || len(all) != 1 {
		w.t.Fatalf("sockets of replicas: %v %v", all, err)
	}
	return all[0]
}

// via is how the trail says that a command's decision came while the bot runs.
func (w *world) via() string {
	if w.store == "" {
		return "cli"
	}
	return "socket"
}

// standBetween takes the place of the running bot's socket.
func standBetween(t *testing.T, w *world) *between {
	t.Helper()
	path, real := w.socket(), filepath.Join(w.dir, "real.sock")
	if err := os.Rename(path, real); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", real)
	}}
	b := &between{bot: &http.Client{Transport: transport}, ended: make(chan struct{})}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "countersign"
	}}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	b.front = &http.Server{Handler: b.handler(proxy)}
	go func() { defer close(b.ended); b.front.Serve(l) }()
	t.Cleanup(func() { b.front.Close(); <-b.ended; transport.CloseIdleConnections() })
	return b
}

func (b *between) handler(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			proxy.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		b.body.Store(body)
		b.came.Add(1)
		if b.lose.CompareAndSwap(true, false) {
			panic(http.ErrAbortHandler) // closes the connection
		}
		if b.mute.CompareAndSwap(true, false) {
			proxy.ServeHTTP(&nowhere{}, r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	})
}

// nowhere is where an answer gets lost.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header {
	if n.header == nil {
		n.header = make(http.Header)
	}
	return n.header
}
func (*nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (*nowhere) WriteHeader(int)             {}

// trail counts the entries of the audit trail by their action.
func (w *world) trail() map[string]int {
	w.t.Helper()
	out, complaint, code := w.run("audit", "export")
	if code != 0 {
		w.t.Fatalf("audit export: %d %s", code, complaint)
	}
	n := make(map[string]int)
	for line := range strings.Lines(out) {
		var e struct{ Action string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatal(err)
		}
		n[e.Action]++
	}
	return n
}

// TestAnswerOfTheBotGetsLost: a decision that was recorded is found, and one that was not is told as such; nothing is
// sent twice.
func TestAnswerOfTheBotGetsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		lose      func(*between)
		code      int
		want      string // is said
		decisions int
	}{
		{"after it was recorded", func(b *between) { b.mute.Store(true) }, 0, " is approved. The call ", 1},
		{"on its way to the bot", func(b *between) { b.lose.Store(true) }, 1, "is not recorded", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSocketWorld(t)
			w.start()
			thread := w.mention("pay 5")
			w.card(thread, 1)
			id := w.pending()
			b := standBetween(t, w)
			c.lose(b)
			out, complaint, code := w.run("approvals", "decide", id, "--approve", "--reason", "as agreed", "--as", ben)
			if code != c.code || !strings.Contains(out+complaint, c.want) {
				t.Errorf("%d, want %d and %q:\n%s%s", code, c.code, c.want, out, complaint)
			}
			if n := b.came.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
			if trail := w.trail(); trail["decision.recorded"] != c.decisions || trail["decision.refused"] != 0 {
				t.Errorf("the trail: %v", trail)
			}
			if c.decisions == 0 { // what people are told to do then
				if out, complaint, code = w.run("approvals", "decide", id, "--approve", "--as", ben); code != 0 {
					t.Errorf("again: %d\n%s%s", code, out, complaint)
				}
			}
			w.answer(thread, "R-1")
			if trail := w.trail(); trail["decision.recorded"] != 1 {
				t.Errorf("the trail: %v", trail)
			}
		})
	}
}

// TestAnswerGetsLostAndAnotherCounts tells what was decided instead.
func TestAnswerGetsLostAndAnotherCounts(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{cleo: "by " + cleo, ben: "by " + ben} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			w := newSocketWorld(t)
			w.start()
			card := w.card(w.mention("pay 5"), 1)
			id := w.pending()
			b := standBetween(t, w)
			b.lose.Store(true)
			w.mustClick(user, card, "reject")
			w.settled(card, "Rejected")
			out, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", ben)
			if code != 1 || !strings.Contains(complaint, "rejected") || !strings.Contains(complaint, want) {
				t.Errorf("%d, want %q:\n%s%s", code, want, out, complaint)
			}
		})
	}
}

// pending returns the id of the only request that waits.
func (w *world) pending() string {
	w.t.Helper()
	out, complaint, code := w.run("approvals", "list", "--json")
	var s struct{ ID string }
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil {
		w.t.Fatalf("list --json: %d %v\n%s%s", code, err, out, complaint)
	}
	return s.ID
}

// TestClientOfTheSocketSetsNothing takes a decision that differs from the command's own in request and digest, whatever
// else it says: way, id and time are the bot's to set.
func TestClientOfTheSocketSetsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		more map[string]any
	}{
		{"only another request", nil},
		{"another way", map[string]any{"via": "button"}},
		{"another time", map[string]any{"at": "2031-01-01T00:00:00Z", "id": "dec_chosen"}},
		{"nothing of it", map[string]any{"at": nil, "via": nil, "id": nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newSocketWorld(t)
			w.start()
			w.card(w.mention("pay 5"), 1)
			b := standBetween(t, w)
			first := w.pending()
			if _, complaint, code := w.run("approvals", "decide", first, "--approve", "--as", ben); code != 0 {
				t.Fatalf("%d %s", code, complaint)
			}
			thread := w.mention("pay 6")
			w.card(thread, 1)
			second := w.shown(w.pending())
			decision := make(map[string]any)
			if err := json.Unmarshal(b.body.Load().([]byte), &decision); err != nil {
				t.Fatal(err)
			}
			decision["request"], decision["digest"] = second.ID, second.Digest
			for key, value := range c.more {
				decision[key] = value
			}
			body, err := json.Marshal(decision)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := b.bot.Post("http://countersign/v1/decisions", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if answer := readAll(t, resp.Body); resp.StatusCode != http.StatusOK ||
				strings.Contains(answer, `"error"`) {
				t.Fatalf("%s: %s", resp.Status, answer)
			}
			w.answer(thread, "R-2")
			one, other := w.shown(first).Decisions[0], w.shown(second.ID).Decisions[0]
			if other.Via != w.via() || other.ID == "" || other.ID == one.ID || other.ID == "dec_chosen" ||
				other.At[:4] == "2031" || other.At < one.At {
				t.Errorf("recorded: %+v after %+v", other, one)
			}
		})
	}
}

// shownRequest is what tests read of "approvals show --json".
type shownRequest struct {
	ID, Digest string
	Decisions  []struct{ ID, Via, At string }
}

func (w *world) shown(id string) (r shownRequest) {
	w.t.Helper()
	out, complaint, code := w.run("approvals", "show", id, "--json")
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		w.t.Fatalf("show --json: %d %v\n%s%s", code, err, out, complaint)
	}
	return r
}
