package slackdev_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/internal/slackdev"
)

// postURL posts JSON to an address that is no API method.
func postURL(t *testing.T, target string, args object) answer {
	t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return do(t, req)
}

// httpApp is an app in HTTP mode; answer decides what it returns.
type httpApp struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	answer   func(rw http.ResponseWriter, r *http.Request, body string)
}

func (a *httpApp) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "", http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.requests, a.bodies = append(a.requests, r), append(a.bodies, string(raw))
	a.mu.Unlock()
	var v struct{ Challenge string }
	if json.Unmarshal(raw, &v) == nil && v.Challenge != "" {
		io.WriteString(rw, v.Challenge)
		return
	}
	a.answer(rw, r, string(raw))
}

func (a *httpApp) seen() ([]*http.Request, []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*http.Request(nil), a.requests...), append([]string(nil), a.bodies...)
}

func startHTTP(
	t *testing.T, cfg slackdev.Config, answer func(http.ResponseWriter, *http.Request, string),
) (*slackdev.Workspace, *httpApp) {
	t.Helper()
	cfg.Mode = slackdev.ModeHTTP
	app := &httpApp{answer: answer}
	server := httptest.NewServer(app)
	t.Cleanup(server.Close)
	w := start(t, cfg)
	urls := slackdev.RequestURLs{
		Events: server.URL + "/events", Interactions: server.URL + "/interactions", Commands: server.URL + "/commands",
	}
	if err := w.SetRequestURL(within(t), urls); err != nil {
		t.Fatal(err)
	}
	return w, app
}

func TestHTTPSignatureAndPaths(t *testing.T) {
	t.Parallel()
	w, app := startHTTP(t, slackdev.Config{}, func(rw http.ResponseWriter, r *http.Request, body string) {
		if r.URL.Path == "/commands" {
			io.WriteString(rw, "plain answer")
		}
	})
	ctx := within(t)
	mention(t, w)
	if err := w.Command(ctx, "U0ANN", "C0GENERAL", "/approvals", "mine"); err != nil {
		t.Fatal(err)
	}
	if err := w.Shortcut(ctx, "U0ANN", "list"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { _, b := app.seen(); return len(b) == 5 }) // challenge, two events, command, shortcut
	if e := w.Ephemerals("U0ANN"); len(e) != 1 || e[0].Text != "plain answer" {
		t.Errorf("command answer %v", e)
	}
	requests, bodies := app.seen()
	for i, r := range requests {
		v, err := slack.NewSecretsVerifier(r.Header, w.Config().SigningSecret)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(&v, bodies[i])
		if err := v.Ensure(); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		form, _ := url.ParseQuery(bodies[i])
		switch r.URL.Path {
		case "/commands":
			if form.Get("command") != "/approvals" || form.Get("is_enterprise_install") != "false" {
				t.Errorf("command %v", form)
			}
		case "/interactions":
			if form.Get("payload") == "" {
				t.Errorf("interaction %q", bodies[i])
			}
		}
	}
	old := w.Sign([]byte("x"), time.Now().Add(-time.Hour))
	if v, err := slack.NewSecretsVerifier(old, w.Config().SigningSecret); err == nil {
		t.Errorf("an hour-old signature is taken for fresh: %v", v)
	}
}

func TestHTTPRedelivery(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	w, app := startHTTP(t, patient(), func(rw http.ResponseWriter, r *http.Request, body string) {
		switch attempts.Add(1) {
		case 1:
			http.Error(rw, "", http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler)
		}
	})
	mention(t, w)
	await(t, w, func() bool { d := w.Deliveries(); return len(d) == 3 && !d[2].Acked.IsZero() })
	wantRetries(t, app, "", "http_error", "connection_failed")
}

func TestHTTPTimeout(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the server sees that the caller has gone
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	cfg := quick()
	cfg.Mode, cfg.RequestURL.Events = slackdev.ModeHTTP, server.URL
	w := start(t, cfg)
	mention(t, w)
	await(t, w, func() bool { d := w.Deliveries(); return len(d) == 4 && d[3].Error != "" })
	for i, d := range w.Deliveries() {
		if d.Error != "http_timeout" && d.Error != "no acknowledgement in time" || i > 0 && d.Reason != "http_timeout" {
			t.Errorf("attempt %d: error %q, reason %q", i, d.Error, d.Reason)
		}
	}
}

// wantRetries compares why the app was asked again, behind the challenge.
func wantRetries(t *testing.T, app *httpApp, reasons ...string) {
	t.Helper()
	requests, _ := app.seen()
	if len(requests) != len(reasons)+1 {
		t.Fatalf("%d requests, want the challenge and %d", len(requests), len(reasons))
	}
	for i, want := range reasons {
		h := requests[i+1].Header
		if h.Get("X-Slack-Retry-Reason") != want {
			t.Errorf("attempt %d: reason %q, want %q", i, h.Get("X-Slack-Retry-Reason"), want)
		}
		if n := h.Get("X-Slack-Retry-Num"); i > 0 && n != strconv.Itoa(i) {
			t.Errorf("attempt %d: retry number %q", i, n)
		}
	}
}

func TestHTTPNoRetry(t *testing.T) {
	t.Parallel()
	w, app := startHTTP(t, patient(), func(rw http.ResponseWriter, _ *http.Request, body string) {
		rw.Header().Set("X-Slack-No-Retry", "1")
		rw.WriteHeader(http.StatusInternalServerError)
	})
	for n := range 3 {
		mention(t, w)
		await(t, w, func() bool { d := w.Deliveries(); return len(d) > 2*n && d[2*n].Error == "http_error" })
		if err := w.Shortcut(t.Context(), "U0ANN", "x"); err == nil {
			t.Error("a shortcut that failed looks well")
		}
	}
	// A redelivery begins at once, and each of three had the time of some requests.
	if r, _ := app.seen(); len(r) != 7 {
		t.Errorf("%d requests, want the challenge, three events, three shortcuts", len(r))
	}
}

func TestChallengeMustBeRepeated(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(
		http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "no") }))
	t.Cleanup(server.Close)
	w := start(t, slackdev.Config{Mode: slackdev.ModeHTTP})
	if err := w.SetRequestURL(t.Context(), slackdev.RequestURLs{Events: server.URL}); err == nil {
		t.Error("an app that does not repeat the challenge was accepted")
	}
}
