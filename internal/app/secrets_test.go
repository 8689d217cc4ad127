package app_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leaks says which places hold which secrets.
func leaks(places map[string]string, secrets ...string) (found []string) {
	for _, place := range slices.Sorted(maps.Keys(places)) {
		for _, secret := range secrets {
			if i := strings.Index(places[place], secret); i >= 0 {
				found = append(found, fmt.Sprintf("%s holds %q: %.300s", place, secret, places[place][max(0, i-150):]))
			}
		}
	}
	return found
}

// hides fails the test when one of the places holds a secret. Control: there is something to read in each of them, and
// put there each secret is found.
func hides(t *testing.T, places map[string]string, secrets ...string) {
	t.Helper()
	for _, found := range leaks(places, secrets...) {
		t.Error(found)
	}
	for place, text := range places {
		if strings.TrimSpace(text) == "" {
			t.Errorf("control: nothing was read of %s", place)
		}
		for _, secret := range secrets {
			planted := map[string]string{place: text[:len(text)/2] + secret + text[len(text)/2:]}
			if secret == "" || len(leaks(planted, secret)) == 0 {
				t.Errorf("control: %q in %s was not found", secret, place)
			}
		}
	}
}

// answers is what the running bot answers at its control socket to every question that changes nothing, about a
// request and its run: what commands print less or more of. The copy of the store is none of them.
func (w *world) answers(request string) map[string]string {
	w.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.controlSocket())
	}}
	defer transport.CloseIdleConnections()
	ask := func(path string) string {
		w.t.Helper()
		req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://countersign"+path, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			w.t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, body, err)
		}
		return string(body)
	}
	got := map[string]string{}
	for _, path := range []string{
		"/v1/requests?status=pending", "/v1/requests/" + request, "/v1/requests/req_unknown", "/v1/audit/report",
		"/v1/audit/entries", "/v1/audit/requests", "/v1/report", "/v1/outbox/dead", "/v1/grants", "/v1/runs",
	} {
		got["GET "+path] = ask(path)
	}
	return got
}

// answersMasked is answers but for the request itself: from that one commands judge how a policy would have decided,
// with the values that it was asked about. Whoever may use the socket may read the store as well (SECURITY.md). They
// print it masked.
func (w *world) answersMasked(request string) map[string]string {
	w.t.Helper()
	places := w.answers(request)
	whole := "GET /v1/requests/" + request
	if !strings.Contains(places[whole], secretMemo) {
		w.t.Errorf("control: %s answers without what policies are judged by: %s", whole, places[whole])
	}
	delete(places, whole)
	return places
}

// controlSocket finds the socket of the running bot. One that was killed has left its own behind, which nobody answers:
// replicas on a database have names of their own.
func (w *world) controlSocket() (path string) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSocket {
			if conn, refused := net.Dial("unix", at); refused == nil {
				path = at
				return conn.Close()
			}
		}
		return err
	})
	if err != nil || path == "" {
		w.t.Fatalf("no control socket in %s answers: %v", w.dir, err)
	}
	return path
}

// TestSecretsStayInside: what the bot answers at its control socket, what commands answer from the store alone,
// metrics, spans and the log hold neither the value of a secret argument nor what the program is configured with.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"file": false, "database": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			w := newSecretWorldIn(t, "        secret: [memo]\n", postgres)
			bot := w.start("OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL,
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+canaryToken)
			thread := w.mention("pay quietly")
			card := w.card(thread, 1)
			id := fmt.Sprint(card.Metadata.EventPayload["request"])
			hides(t, w.answersMasked(id), slices.Concat(canaries, []string{secretMemo})...)
			w.mustClick(ben, card, "approve")
			w.answer(thread, "it is paid")
			w.settled(card, "ran")
			places := w.answersMasked(id)
			places["the metrics"] = w.page("/metrics")
			if code := bot.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			for _, command := range []string{
				"approvals list --json --status all", "approvals show " + id + " --json", "approvals show " + id,
				"audit export --json", "audit verify", "runs list --json", "outbox list",
			} {
				places[command] = w.must(strings.Fields(command)...)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			places["the log"], places["the spans"] = bot.out.String(), c.text
			hides(t, places, slices.Concat(canaries, []string{secretMemo})...)
			if got := w.effects.all(); len(got) != 1 || !strings.Contains(got[0].body, secretMemo) {
				t.Errorf("control: the tool got %+v", got)
			}
		})
	}
}
