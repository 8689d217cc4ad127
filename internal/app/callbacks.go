package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent/rawtool"
	"countersign/agent/trace"
	"countersign/approvals"
)

// maxCallback bounds the body of a callback, in bytes: a result of approvals.MaxResult whatever its encoding, and more.
const maxCallback = 128 << 10

// provider takes the results of callbacks; approvals.Service is one.
type provider interface {
	CheckCallback(
		ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, token string,
	) (*approvals.Request, error)
	ProvideResult(ctx context.Context, in approvals.CallbackResult) (*approvals.Request, error)
}

// callbacks answers POST /callbacks/ID: the one way in for systems that carry calls out.
type callbacks struct {
	service    provider
	workspaces func() []approvals.WorkspaceID // in one of them the request is
	tracer     trace.Tracer
}

// callbackAnswer is the body of every answer.
type callbackAnswer struct {
	Request approvals.RequestID     `json:"request,omitempty"`
	Status  approvals.RequestStatus `json:"status,omitempty"`
	// Taken says that a callback's result with these very words is what ended the request: an answer to it may have
	// been lost.
	Taken bool   `json:"taken,omitempty"`
	Error string `json:"error,omitempty"`
}

// ServeHTTP looks at the token before anything else of the request. Without the right one the answer is always the
// same, the body is not read, and nothing is traced.
func (h *callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		respond(w, http.StatusMethodNotAllowed, callbackAnswer{Error: "results are sent with POST"})
		return
	}
	arrived := time.Now()
	in := approvals.CallbackResult{Request: approvals.RequestID(r.PathValue("id")), Token: bearer(r.Header)}
	req, err := h.find(r.Context(), &in)
	if err != nil && !errors.Is(err, approvals.ErrConflict) {
		refuseCallback(w, in, req, err)
		return
	}
	result, status, unusable := readResult(w, r)
	if unusable != nil && err == nil { // else it came too late whatever it is
		respond(w, status, callbackAnswer{Error: unusable.Error()})
		return
	}
	in.Result = result
	ctx, end := trace.Begin(r.Context(), h.tracer, trace.Start{Kind: trace.Receive, Name: "callback", Began: arrived})
	if req, err = h.service.ProvideResult(ctx, in); err != nil {
		end("", slog.String(trace.AttrOutcome, "refused"))
		refuseCallback(w, in, req, err)
		return
	}
	respond(w, http.StatusOK, callbackAnswer{Request: req.ID, Status: req.Status})
	end("", slog.String(trace.AttrOutcome, "acknowledged"))
}

// find checks the token where the request is, and notes its workspace.
func (h *callbacks) find(ctx context.Context, in *approvals.CallbackResult) (*approvals.Request, error) {
	for _, in.Workspace = range h.workspaces() {
		r, err := h.service.CheckCallback(ctx, in.Workspace, in.Request, in.Token)
		if !errors.Is(err, approvals.ErrUnauthorized) {
			return r, err
		}
	}
	return nil, approvals.ErrUnauthorized
}

// bearer returns the token of the Authorization header; empty when there is none, or more than one.
func bearer(h http.Header) string {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// refuseCallback answers with what became of a result that was not taken.
func refuseCallback(w http.ResponseWriter, in approvals.CallbackResult, r *approvals.Request, err error) {
	switch {
	case errors.Is(err, approvals.ErrUnauthorized):
		w.Header().Set("WWW-Authenticate", "Bearer")
		respond(w, http.StatusUnauthorized, callbackAnswer{Error: "no callback has this token"})
	case errors.Is(err, approvals.ErrConflict) && r != nil:
		respond(w, http.StatusConflict, ended(in, r))
	case errors.Is(err, approvals.ErrInvalid):
		respond(w, http.StatusBadRequest, callbackAnswer{Error: err.Error()})
	default:
		w.Header().Set("Retry-After", "5")
		respond(w, http.StatusServiceUnavailable,
			callbackAnswer{Error: "the result cannot be recorded now; send it again later"})
	}
}

// ended says how the request ended that a result came too late for.
func ended(in approvals.CallbackResult, r *approvals.Request) callbackAnswer {
	a := callbackAnswer{Request: r.ID, Status: r.Status, Error: "the request has ended; the result was not taken"}
	if d := r.Settler(); d != nil && d.Via == approvals.ViaCallback {
		a.Error = "a result was taken before; this one was not"
		if a.Taken = d.Reason == in.Result; a.Taken {
			a.Error = "this result was taken before"
		}
	}
	return a
}

func respond(w http.ResponseWriter, status int, a callbackAnswer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // whoever is gone meanwhile sends it again
}

// readResult reads the body, {"result": …}. The result is a text, or any other JSON, which is taken as it is written in
// canonical form. With an error comes the status to answer with.
func readResult(w http.ResponseWriter, r *http.Request) (result string, status int, err error) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	switch {
	case err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8"):
		return "", http.StatusUnsupportedMediaType, errors.New("the body must be application/json in UTF-8")
	case r.Header.Get("Content-Encoding") != "":
		return "", http.StatusUnsupportedMediaType, errors.New("the body must not be compressed")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallback))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return "", http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes", maxCallback)
	}
	if err != nil {
		return "", http.StatusBadRequest, errors.New("the body did not arrive whole")
	}
	result, err = parseResult(body)
	return result, http.StatusBadRequest, err
}

var errNoResult = errors.New(`the body must be {"result": …} and hold nothing else`)

func parseResult(body []byte) (string, error) {
	switch {
	case !utf8.Valid(body):
		return "", errors.New("the body is not UTF-8")
	case len(bytes.TrimSpace(body)) == 0:
		return "", errNoResult
	}
	canonical, err := rawtool.Canonical(body)  // strict: no name twice, no lone surrogates
	if why := errors.Unwrap(err); why != nil { // of the error itself the words are about a call's arguments
		return "", fmt.Errorf("the body is no JSON object: %w", why)
	}
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(canonical, &members) != nil {
		return "", errors.New("the body is no JSON object")
	}
	value, has := members["result"]
	if !has || len(members) != 1 {
		return "", errNoResult
	}
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text, nil
	}
	return string(value), nil
}

// CallbackURL is COUNTERSIGN_PUBLIC_URL without a slash at its end.
func (c *Config) CallbackURL() string { return strings.TrimRight(c.PublicURL, "/") }

// checkPublicURL refuses where results would arrive in the open, or not at all.
func (c *Config) checkPublicURL(p *problems) {
	const name = "COUNTERSIGN_PUBLIC_URL"
	if c.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.PublicURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.add("%s is no http or https URL, such as https://countersign.example.com", name)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		p.add("%s holds more than scheme, host and path; leave user, query and fragment out", name)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		p.add("%s begins with http://, and tokens and results would travel unencrypted; use https://, "+
			"or a loopback address", name)
	}
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// routeCallbacks serves callbacks where a public URL is set, in either mode.
func (s *server) routeCallbacks(mux *http.ServeMux) {
	if s.cfg.PublicURL != "" {
		mux.Handle("/callbacks/{id}", &callbacks{s.service, s.workspaces, s.traces.Tracer()})
	}
}
