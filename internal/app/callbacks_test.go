package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// oneCallback is a provider with one request, whose token is "right".
type oneCallback struct {
	request approvals.Request
	taken   []string
}

func (o *oneCallback) CheckCallback(
	_ context.Context, ws approvals.WorkspaceID, id approvals.RequestID, token string,
) (*approvals.Request, error) {
	switch {
	case ws != "T1" || id != "req_1" || token != "right":
		return nil, approvals.ErrUnauthorized
	case o.request.Status != approvals.RequestPending, !o.request.Expires.IsZero():
		return &o.request, approvals.ErrConflict
	}
	return &o.request, nil
}

func (o *oneCallback) ProvideResult(ctx context.Context, in approvals.CallbackResult) (*approvals.Request, error) {
	if r, err := o.CheckCallback(ctx, in.Workspace, in.Request, in.Token); err != nil {
		if r != nil && r.Status == approvals.RequestPending {
			r.Status = approvals.RequestExpired
		}
		return r, err
	}
	if in.Result == "" {
		return nil, approvals.ErrInvalid
	}
	if in.Result == "busy" {
		return nil, approvals.ErrUnavailable
	}
	o.taken = append(o.taken, in.Result)
	o.request.Status = approvals.RequestApproved
	o.request.Decisions = []approvals.Decision{{
		By: approvals.CallbackPrincipal("T1"), Verdict: approvals.ProvideResult, Via: approvals.ViaCallback,
		Reason: in.Result,
	}}
	return &o.request, nil
}

func newOneCallback() *oneCallback {
	o := &oneCallback{}
	o.request.ID, o.request.Status = "req_1", approvals.RequestPending
	return o
}

func (o *oneCallback) send(r *http.Request) *httptest.ResponseRecorder {
	workspaces := func() []approvals.WorkspaceID { return []approvals.WorkspaceID{"T0", "T1"} }
	return sendCallback(&callbacks{o, workspaces, nil}, r)
}

func sendCallback(h *callbacks, r *http.Request) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.Handle("/callbacks/{id}", h)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func callbackRequest(path, token, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// TestCallbackAnswers has a result taken once; later ones are told whether it was theirs.
func TestCallbackAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"result":"done é"}`:          "done é",
		` { "result" : {"b":1,"a":2}}`: `{"a":2,"b":1}`,
		`{"result":null}`:              "null",
	} {
		o := newOneCallback()
		for i, code := range []int{http.StatusOK, http.StatusConflict} {
			w := o.send(callbackRequest("/callbacks/req_1", "right", body))
			if w.Code != code || strings.Contains(w.Body.String(), `"taken":true`) != (i == 1) {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
		w := o.send(callbackRequest("/callbacks/req_1", "right", `{"result":"other"}`))
		if w.Code != http.StatusConflict || strings.Contains(w.Body.String(), "taken\":true") {
			t.Errorf("another result: %d %s", w.Code, w.Body)
		}
		if diff := cmp.Diff([]string{want}, o.taken); diff != "" {
			t.Errorf("%s (-want +taken):\n%s", body, diff)
		}
	}
}

// TestCallbackTellsNothing to somebody without the token: whether there is such a request, and whatever the body is,
// the answers are alike, and the body is not read.
func TestCallbackTellsNothing(t *testing.T) {
	t.Parallel()
	ended := newOneCallback()
	ended.request.Status = approvals.RequestCancelled
	twice := callbackRequest("/callbacks/req_1", "right", `{}`)
	twice.Header.Add("Authorization", "Bearer right")
	basic := callbackRequest("/callbacks/req_1", "", `{}`)
	basic.Header.Set("Authorization", "Basic right")
	var first *httptest.ResponseRecorder
	for name, c := range map[string]struct {
		o *oneCallback
		r *http.Request
	}{
		"wrong token":     {newOneCallback(), callbackRequest("/callbacks/req_1", "wrong", `{"result":"x"}`)},
		"no token":        {newOneCallback(), callbackRequest("/callbacks/req_1", "", `{"result":"x"}`)},
		"two tokens":      {newOneCallback(), twice},
		"another scheme":  {newOneCallback(), basic},
		"no such request": {newOneCallback(), callbackRequest("/callbacks/req_2", "right", `{"result":"x"}`)},
		"no JSON":         {newOneCallback(), callbackRequest("/callbacks/req_2", "right", `?`)},
		"ended":           {ended, callbackRequest("/callbacks/req_1", "wrong", `{"result":"x"}`)},
	} {
		unread := c.r.Body
		w := c.o.send(c.r)
		if first == nil {
			first = w
		}
		if w.Code != http.StatusUnauthorized || w.Body.String() != first.Body.String() ||
			cmp.Diff(first.Header(), w.Header()) != "" {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		if n, _ := unread.Read(make([]byte, 1)); n == 0 {
			t.Errorf("%s: the body was read", name)
		}
	}
}

// TestCallbackBodies refuses what is no result, with the token and all.
func TestCallbackBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, kind string
		code       int
	}{
		"no JSON":            {`done`, "application/json", http.StatusBadRequest},
		"a list":             {`["result"]`, "application/json", http.StatusBadRequest},
		"nothing":            {``, "application/json", http.StatusBadRequest},
		"no result":          {`{}`, "application/json", http.StatusBadRequest},
		"more than a result": {`{"result":"x","status":"y"}`, "application/json", http.StatusBadRequest},
		"two results":        {`{"result":"x","result":"y"}`, "application/json", http.StatusBadRequest},
		"more behind it":     {`{"result":"x"}{}`, "application/json", http.StatusBadRequest},
		"no UTF-8":           {"{\"result\":\"\xff\"}", "application/json", http.StatusBadRequest},
		"an empty result":    {`{"result":""}`, "application/json", http.StatusBadRequest},
		"too long":           {`{"result":"` + strings.Repeat("x", maxCallback) + `"}`, "application/json", 413},
		"a form":             {`result=x`, "application/x-www-form-urlencoded", http.StatusUnsupportedMediaType},
		"no type":            {`{"result":"x"}`, "", http.StatusUnsupportedMediaType},
		"another charset":    {`{"result":"x"}`, "application/json; charset=latin1", http.StatusUnsupportedMediaType},
		"the store is busy":  {`{"result":"busy"}`, "application/json; charset=utf-8", http.StatusServiceUnavailable},
	} {
		o := newOneCallback()
		r := callbackRequest("/callbacks/req_1", "right", c.body)
		r.Header.Set("Content-Type", c.kind)
		w := o.send(r)
		if w.Code != c.code || len(o.taken) > 0 || strings.Contains(w.Body.String(), "arguments") {
			t.Errorf("%s: %d %s, taken %q", name, w.Code, w.Body, o.taken)
		}
	}
	r := callbackRequest("/callbacks/req_1", "right", "")
	r.Method = http.MethodGet
	if w := newOneCallback().send(r); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
}

// TestCallbackAfterItsTime: once the time for an answer is over no body is a matter of another try, also while the
// request still counts as pending because nobody has noticed.
func TestCallbackAfterItsTime(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"result":"x"}`, `{"result":`, ``} {
		o := newOneCallback()
		o.request.Expires = time.Now().Add(-time.Second)
		w := o.send(callbackRequest("/callbacks/req_1", "right", body))
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"status":"expired"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// TestPublicURL takes plain http for loopback addresses alone.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	for url, good := range map[string]bool{
		"": true, "https://bot.example": true, "https://bot.example/base/": true, "http://127.0.0.1:8080": true,
		"http://[::1]:8080": true, "http://localhost": true, "http://bot.example": false, "http://10.0.0.1": false,
		"http://127.0.0.1.example": false, "https://u@bot.example": false, "https://bot.example?": false,
		"https://bot.example#x": false, "bot.example": false, "ftp://bot.example": false,
	} {
		var p problems
		(&Config{PublicURL: url}).checkPublicURL(&p)
		if (len(p) == 0) != good {
			t.Errorf("%q: %v", url, p)
		}
	}
	if got := (&Config{PublicURL: "https://bot.example/base/"}).CallbackURL(); got != "https://bot.example/base" {
		t.Errorf("callbacks at %q", got)
	}
}
