package slackdev

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"
)

//go:embed web
var webFiles embed.FS

// pageInterval bounds how often an open page is told about changes.
const pageInterval = 40 * time.Millisecond

// pageRoutes serves the page and the addresses it talks to. They let whoever
// reaches them act as anybody, so they refuse other sites and foreign names.
func (w *Workspace) pageRoutes(mux *http.ServeMux) {
	files, err := fs.Sub(webFiles, "web")
	if err != nil {
		panic(err) // the name is a constant
	}
	page := http.NewServeMux()
	page.Handle("GET /", noStore(http.FileServerFS(files)))
	page.HandleFunc("GET /dev/state", w.servePageState)
	page.HandleFunc("GET /dev/detail", w.servePageDetail)
	page.HandleFunc("GET /dev/stream", w.servePageStream)
	page.HandleFunc("POST /dev/post", act(w.pagePost))
	page.HandleFunc("POST /dev/click", act(w.pageClick))
	page.HandleFunc("POST /dev/submit", act(w.pageSubmit))
	page.HandleFunc("POST /dev/close", act(w.pageClose))
	page.HandleFunc("POST /dev/command", act(w.pageCommand))
	page.HandleFunc("POST /dev/shortcut", act(w.pageShortcut))
	page.HandleFunc("POST /dev/home", act(w.pageHome))
	page.HandleFunc("POST /dev/assistant", act(w.pageAssistant))
	page.HandleFunc("POST /dev/stop", act(w.pageStop))
	page.HandleFunc("POST /dev/read", act(w.pageRead))
	page.HandleFunc("POST /dev/startover", act(w.pageStartOver))
	mux.Handle("/", w.guard(http.NewCrossOriginProtection().Handler(page)))
}

// noStore adds the headers that keep the page to itself.
func noStore(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(rw, r)
	})
}

// guard refuses requests that reach a loopback listener under a foreign name,
// as a page of another site could arrange with its own DNS.
func (w *Workspace) guard(next http.Handler) http.Handler {
	addr, ok := w.ln.Addr().(*net.TCPAddr)
	local := ok && addr.IP.IsLoopback()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		ip := net.ParseIP(host)
		if local && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(rw, "this page answers to loopback names only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *Workspace) servePageState(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(rw).Encode(w.pageState(r.URL.Query().Get("user")))
}

func (w *Workspace) servePageDetail(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(rw, w.activityDetail(r.URL.Query().Get("id")))
}

// servePageStream sends the state once and after every change, as Server-Sent
// Events.
func (w *Workspace) servePageStream(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(rw)
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if _, err := fmt.Fprintf(rw, "data: %s\n\n", encode(w.pageState(r.URL.Query().Get("user")))); err != nil {
			return
		}
		if control.Flush() != nil || !w.life.pause(pageInterval) {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-w.life.Done():
			return
		}
	}
}

// pageAct is what the page asks for in somebody's name.
type pageAct struct {
	User, Channel, Thread, Text string
	Command, CallbackID         string
	TS, ViewID, BlockID         string
	ActionID, Value             string
	All                         bool
	State                       map[string]map[string]any
}

// pageAnswer tells the page what the person should see.
type pageAnswer struct {
	OK     bool              `json:"ok"`
	Error  string            `json:"error,omitempty"`
	Kind   string            `json:"kind,omitempty"` // trouble, invalid or gone
	TS     string            `json:"ts,omitempty"`
	Errors map[string]string `json:"errors,omitempty"` // by block id
}

// act decodes, acts and answers.
func act(do func(context.Context, pageAct) (pageAnswer, error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var in pageAct
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxRequest)).Decode(&in); err != nil {
			http.Error(rw, "not JSON", http.StatusBadRequest)
			return
		}
		answer, err := do(r.Context(), in)
		answer.OK = err == nil && answer.Errors == nil
		if err != nil {
			answer.Error, answer.Kind = err.Error(), errorKind(err)
		}
		rw.Header().Set("Content-Type", "application/json; charset=utf-8")
		json.NewEncoder(rw).Encode(answer)
	}
}

func errorKind(err error) string {
	switch {
	case errors.Is(err, ErrTrouble):
		return "trouble"
	case errors.Is(err, ErrInvalidInput):
		return "invalid"
	}
	return "gone"
}

func (w *Workspace) pagePost(ctx context.Context, in pageAct) (pageAnswer, error) {
	ts, err := w.Post(ctx, in.User, in.Channel, w.typed(in.Text), in.Thread)
	return pageAnswer{TS: ts}, err
}

func (w *Workspace) pageClick(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.Click(ctx, Click{
		User: in.User, Channel: in.Channel, TS: in.TS, ViewID: in.ViewID, BlockID: in.BlockID,
		ActionID: in.ActionID, Value: in.Value, State: in.State,
	})
}

func (w *Workspace) pageSubmit(ctx context.Context, in pageAct) (pageAnswer, error) {
	answer, err := w.Submit(ctx, in.User, in.ViewID, in.State)
	out := pageAnswer{}
	if fields, ok := answer["errors"].(map[string]any); ok && err == nil {
		out.Errors = map[string]string{}
		for block, message := range fields {
			out.Errors[block] = str(message)
		}
	}
	return out, err
}

func (w *Workspace) pageClose(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.CloseView(ctx, in.User, in.ViewID, in.All)
}

func (w *Workspace) pageCommand(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.Command(ctx, in.User, in.Channel, in.Command, in.Text)
}

func (w *Workspace) pageShortcut(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.Shortcut(ctx, in.User, in.CallbackID)
}

func (w *Workspace) pageHome(ctx context.Context, in pageAct) (pageAnswer, error) {
	return pageAnswer{}, w.OpenHome(ctx, in.User)
}
