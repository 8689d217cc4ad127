package app_test

import (
	"context"
	"encoding/json"
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
// request and its run, and to answers that are refused. The copy of the store is none of them, nor is a revelation.
func (w *world) answers(request string) map[string]string {
	w.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.controlSocket())
	}}
	defer transport.CloseIdleConnections()
	ask := func(method, path, body string) string {
		w.t.Helper()
		req, err := http.NewRequestWithContext(w.ctx, method, "http://countersign"+path, strings.NewReader(body))
		if err != nil {
			w.t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			w.t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, answer, err)
		}
		return string(answer)
	}
	got := map[string]string{}
	asked := ask("GET", "/v1/requests/"+request+"?secret=masked", "")
	var of struct {
		Request struct{ Workspace, Run string }
	}
	if err := json.Unmarshal([]byte(asked), &of); err != nil || of.Request.Run == "" {
		w.t.Fatalf("%s: %v", asked, err)
	}
	got["the request"] = asked
	for _, path := range []string{
		"/v1/requests?status=all", "/v1/requests/" + request, "/v1/requests/req_unknown", "/v1/audit/report",
		"/v1/audit/entries", "/v1/audit/requests", "/v1/report", "/v1/outbox/dead", "/v1/grants", "/v1/runs",
		"/v1/runs/" + of.Request.Run,
	} {
		got["GET "+path] = ask("GET", path, "")
	}
	decision := fmt.Sprintf(`{"workspace":%q,"request":%q,"by":%q,"verdict":"approve"}`, of.Request.Workspace, request,
		of.Request.Workspace+"/"+ann)
	trial, err := json.Marshal(map[string]any{"request": request, "name": "tried.yaml", "text": secretPolicy})
	if err != nil {
		w.t.Fatal(err)
	}
	got["a decision that is refused"] = ask("POST", "/v1/decisions", decision)
	got["batches that are refused"] = ask("POST", "/v1/batches", fmt.Sprintf(
		`{"workspace":%q,"by":%q,"verdict":"approve","requests":[{"request":%q}]}`, of.Request.Workspace,
		of.Request.Workspace+"/"+ann, request))
	got["a judgement"] = ask("POST", "/v1/judgements", string(trial))
	if masked := strings.Contains(asked, `"masked":true`); masked &&
		!strings.Contains(got["a judgement"], "by_the_memo") {
		w.t.Errorf("control: the values do not count: %s", got["a judgement"])
	}
	return got
}

// secretPolicy is an agents file whose policy is chosen by a secret value.
var secretPolicy = strings.Replace(fmt.Sprintf(secretYAML, "        secret: [memo]\n"), "${EFFECTS_URL}",
	"http://127.0.0.1:9", 1) + `policies:
  - name: by_the_memo
    when: tool == "pay" && args.memo.startsWith("canary") && size(args.memo) == 16
    approvers: { users: [U0CLEO] }
`

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
			hides(t, w.answers(id), slices.Concat(canaries, []string{secretMemo})...)
			w.write("tried.yaml", secretPolicy)
			simulate := []string{"policy", "simulate", "--since", "1h", "--file", "tried.yaml"}
			if out := w.must(simulate...); !strings.Contains(out, "default_policy → by_the_memo") {
				t.Errorf("control: the bot does not judge by the values:\n%s", out)
			}
			w.mustClick(ben, card, "approve")
			w.answer(thread, "it is paid")
			w.settled(card, "ran")
			places := w.answers(id)
			places["the metrics"] = w.page("/metrics")
			if code := bot.stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if out := w.must(simulate...); !strings.Contains(out, "default_policy → by_the_memo") {
				t.Errorf("without the bot, the values do not count:\n%s", out)
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
