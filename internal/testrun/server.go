package testrun

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"countersign/internal/testfile"
)

// received is a request that a server got.
type received struct {
	server, request string
	body            []byte
	header          http.Header
	step            string
	expected        bool
}

// server stands for a service. What it receives is wrong unless the step under way expects it.
type server struct {
	name     string
	routes   []testfile.Route
	receipts *receipts
	listener net.Listener
	http     *http.Server
}

// maxBody is how much of a request is read.
const maxBody = 1 << 20

func startServer(name string, s testfile.Server, to *receipts) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", name, err)
	}
	stub := &server{name: name, routes: s.Routes, receipts: to, listener: l}
	stub.http = &http.Server{Handler: stub, ReadHeaderTimeout: 10 * time.Second}
	go stub.http.Serve(l) // until Close
	return stub, nil
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// ServeHTTP notes the request and answers it.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	request := r.Method + " " + r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		request = testfile.Canonical(request + "?" + r.URL.RawQuery)
	}
	route := s.route(request)
	anyTimes := route != nil && route.AnyTimes
	want := s.receipts.take(received{server: s.name, request: request, body: body, header: r.Header}, anyTimes)
	switch {
	case want != nil && want.Answers():
		answer(w, want.Status, want.JSON, want.Text)
	case route != nil:
		answer(w, route.Status, route.JSON, route.Text)
	default:
		http.Error(w, "the test has no answer to "+request, http.StatusNotImplemented)
	}
}

func (s *server) route(request string) *testfile.Route {
	for i := range s.routes {
		if s.routes[i].Canonical() == request {
			return &s.routes[i]
		}
	}
	return nil
}

func answer(w http.ResponseWriter, status int, body json.RawMessage, text *string) {
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case body != nil:
		w.Header().Set("Content-Type", "application/json")
	case text != nil:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		body = json.RawMessage(*text)
	}
	w.WriteHeader(status)
	w.Write(body) // an error means that the caller is gone
}

// receipts are what all servers of a test got, and what they are to get in the step under way.
type receipts struct {
	violations *violations

	mu      sync.Mutex
	all     []received
	step    *testfile.Step
	name    string
	missing []*testfile.Received
}

// begin says what the next step expects.
func (r *receipts) begin(step *testfile.Step, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.name, r.missing = step, name, nil
	r.violations.begin(name)
	for i := range step.Calls {
		r.missing = append(r.missing, &step.Calls[i])
	}
}

// take notes a request, and returns what the step expects of it; nil where nothing does.
func (r *receipts) take(got received, anyTimes bool) *testfile.Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	got.step = r.name
	why := "nothing: the step does not expect it"
	for i, want := range r.missing {
		if want.Server != got.server || testfile.Canonical(want.Request) != got.request {
			continue
		}
		if differs := difference(want, &got); differs != "" {
			why = differs
			continue
		}
		r.missing = append(r.missing[:i:i], r.missing[i+1:]...)
		got.expected = true
		r.all = append(r.all, got)
		return want
	}
	r.all = append(r.all, got)
	if !anyTimes {
		f := Failure{What: "what server " + got.server + " receives", Expected: why, Got: got.String()}
		if r.step != nil {
			f.At = r.step.At
		}
		r.violations.add(f)
	}
	return nil
}

// left returns what has not come yet.
func (r *receipts) left() []*testfile.Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*testfile.Received(nil), r.missing...)
}

func (r *receipts) list() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.all...)
}

// difference says what was expected instead of what came, or "".
func difference(want *testfile.Received, got *received) string {
	switch {
	case want.AnyBody:
	case want.Has != nil && !hasMembers(want.Has, got.body):
		return want.Request + " with " + string(want.Has)
	case want.Has != nil:
	case want.Body == nil && len(got.body) > 0:
		return want.Request + " without a body"
	case want.Body != nil && !sameJSON(want.Body, got.body):
		return want.Request + " " + string(want.Body)
	}
	for name, value := range want.Headers {
		if have := got.header.Get(name); have != value {
			return fmt.Sprintf("%s with the header %s: %s, not %q", want.Request, name, value, have)
		}
	}
	return ""
}

func (r received) String() string {
	text, err := url.QueryUnescape(r.request)
	if err != nil {
		text = r.request
	}
	if len(r.body) > 0 {
		text += " " + cut(string(r.body), 400)
	}
	return text
}
