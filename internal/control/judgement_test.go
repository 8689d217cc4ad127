package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// secretly is a request whose memo is secret, one that somebody has filled in.
func secretly() *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: "T1", ID: "req_1", Status: approvals.RequestPending, Secret: []string{"memo"},
			Decisions: []approvals.Decision{
				{Verdict: approvals.ProvideInput, Input: json.RawMessage(`{"memo":"canary"}`)},
			},
		},
		RequestContent: approvals.RequestContent{
			Arguments: json.RawMessage(`{"amount":1,"memo":"canary"}`),
			Original:  json.RawMessage(`{"amount":2,"memo":"canary"}`),
		},
	}
}

// TestSocketMasksSecretValues: no answer with a request holds a secret value but a revelation, whatever the desk
// returns, and what arrives is known to be masked: it is not masked once more.
func TestSocketMasksSecretValues(t *testing.T) {
	t.Parallel()
	desk := &fakeDesk{request: secretly()}
	_, c := serve(t, desk)
	want := secretly().Mask()
	want.Explanation = nil
	check := func(what string, got *approvals.Request, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if again := got.Mask(); !strings.Contains(string(again.Arguments), "(6 characters)") {
			t.Errorf("%s: masked once more: %s", what, again.Arguments)
		}
	}
	r, err := c.Request(t.Context(), "req_1")
	check("request", r, err)
	r, err = c.Decide(t.Context(), approvals.Decision{Request: "req_1"})
	check("decision", r, err)
	all, err := c.DecideAll(t.Context(), approvals.Batch{Requests: []approvals.BatchItem{{Request: "req_1"}}})
	check("batch", all[0].Request, errors.Join(err, all[0].Err))
	for _, path := range []string{"/v1/requests/req_1", "/v1/requests/req_1?secret=masked"} {
		if answer := get(t, c, path); answer == "" || strings.Contains(answer, "canary") {
			t.Errorf("%s answers %s", path, answer)
		}
	}
	whole := secretly()
	whole.Secret = nil
	desk.request = whole // as Service.Reveal returns it
	if r, err = c.Reveal(t.Context(), approvals.RevealIn{Request: "req_1"}); err != nil ||
		!strings.Contains(string(r.Arguments), "canary") {
		t.Errorf("control: a revelation is %s, %v", r.Arguments, err)
	}
}

// TestOlderCommandIsTold: a command that does not say that it knows masks is given no request with secret values, and
// told why; it would judge by the masks. Requests without are answered as ever.
func TestOlderCommandIsTold(t *testing.T) {
	t.Parallel()
	desk := &fakeDesk{request: secretly()}
	_, c := serve(t, desk)
	answer := get(t, c, "/v1/requests/req_1")
	if strings.Contains(answer, `"request"`) || !strings.Contains(answer, `"code":"invalid"`) ||
		!strings.Contains(answer, "use the command of the bot's version") {
		t.Errorf("an older command gets %s", answer)
	}
	plain := secretly()
	plain.Secret = nil
	desk.request = plain
	if answer = get(t, c, "/v1/requests/req_1"); !strings.Contains(answer, `"request":{`) {
		t.Errorf("control: without secret values it gets %s", answer)
	}
}

// TestOlderBot: of a bot that sends values, a command keeps none; one that judges nothing is said to be of another
// version.
func TestOlderBot(t *testing.T) {
	t.Parallel()
	older := http.NewServeMux()
	older.HandleFunc("GET /v1/requests/{id}", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(map[string]any{"request": secretly()}); err != nil {
			t.Error(err)
		}
	})
	srv := httptest.NewServer(older)
	defer srv.Close()
	c := &Client{http: srv.Client(), path: "older"}
	c.http.Transport = toServer{srv.Listener.Addr().String()}
	r, err := c.Request(t.Context(), "req_1")
	if err != nil || !r.Masked || strings.Contains(string(r.Arguments), "canary") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Judgement(t.Context(), Trial{Request: "req_1"}); !errors.Is(err, errOtherVersion) {
		t.Errorf("a judgement: %v", err)
	}
}

// toServer sends everything to one address.
type toServer struct{ address string }

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Host = s.address
	return http.DefaultTransport.RoundTrip(r)
}

// TestJudgementThroughSocket hands the file over and gets the judgement, or why there is none.
func TestJudgementThroughSocket(t *testing.T) {
	t.Parallel()
	money := approvals.Requirement{Policy: "money"}
	desk := &fakeDesk{judgement: Judgement{Fate: "asked", Requirement: money, Why: "w"}}
	_, c := serve(t, desk)
	trial := Trial{Request: "req_1", Name: "a.yaml", Text: "é: \"<b>\"\n", Environment: map[string]string{"A": "b"}}
	got, err := c.Judgement(t.Context(), trial)
	if diff := cmp.Diff(desk.judgement, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if diff := cmp.Diff(trial, desk.tried); diff != "" {
		t.Error(diff)
	}
	desk.err = approvals.ErrNotFound
	if _, err := c.Judgement(t.Context(), trial); !errors.Is(err, approvals.ErrNotFound) {
		t.Error(err)
	}
}

// TestLocalDeskMasks: what a desk on a store lists and finds has no secret values, but it judges by them.
func TestLocalDeskMasks(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := secretly()
	r.Created = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	putRequests(t, st, []*approvals.Request{r})
	var judged string
	desk := &Local{Store: st, Judge: func(_ context.Context, _ Trial, r *approvals.Request) (Judgement, error) {
		judged = string(r.Arguments)
		return Judgement{}, nil
	}}
	heads, _, err := desk.Requests(t.Context(), Query{}, Cursor{}, 10)
	if err != nil || len(heads) != 1 {
		t.Fatal(heads, err)
	}
	found, err := desk.Request(t.Context(), r.ID)
	if err != nil || !found.Masked {
		t.Fatalf("%+v, %v", found, err)
	}
	for what, v := range map[string]any{"listed": heads, "found": found} {
		raw, err := json.Marshal(v)
		if err != nil || strings.Contains(string(raw), "canary") || !strings.Contains(string(raw), "(6 characters)") {
			t.Errorf("%s: %s, %v", what, raw, err)
		}
	}
	if _, err := desk.Judgement(t.Context(), Trial{Request: r.ID}); err != nil || !strings.Contains(judged, "canary") {
		t.Errorf("judged by %s, %v", judged, err)
	}
	desk.Judge = nil
	if _, err := desk.Judgement(t.Context(), Trial{Request: r.ID}); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("a desk that judges nothing: %v", err)
	}
}
