package httptool_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/httptool"
)

// TestSender tells what is known of a body that was sent, and whether it may be sent again.
func TestSender(t *testing.T) {
	t.Parallel()
	type answer struct{ taken, again, unknown bool }
	for name, c := range map[string]struct {
		serve            http.HandlerFunc
		once, idempotent answer
		text             string
	}{
		"taken": {status(202), answer{taken: true}, answer{taken: true}, "answered HTTP 202 Accepted"},
		"failed": {status(500), answer{unknown: true}, answer{again: true, unknown: true},
			"answered HTTP 500 Internal Server Error"},
		"refused":  {status(422), answer{}, answer{}, "answered HTTP 422"},
		"too many": {status(429), answer{again: true}, answer{again: true}, "answered HTTP 429"},
		"gave up":  {status(408), answer{unknown: true}, answer{again: true, unknown: true}, "answered HTTP 408"},
		"not there": {status(503), answer{unknown: true}, answer{again: true, unknown: true},
			"answered HTTP 503"},
		"no answer behind": {status(504), answer{unknown: true}, answer{again: true, unknown: true},
			"answered HTTP 504"},
		"odd":       {status(599), answer{unknown: true}, answer{unknown: true}, "answered HTTP 599"},
		"elsewhere": {status(307), answer{}, answer{}, "answered HTTP 307"},
		"for good":  {status(308), answer{}, answer{}, "answered HTTP 308"},
		// So servers answer what they have done, and lead to a page that says so, or do not want to do here.
		"see other": {status(303), answer{unknown: true}, answer{unknown: true}, "answered HTTP 303"},
		"found":     {status(302), answer{unknown: true}, answer{unknown: true}, "answered HTTP 302"},
		"moved":     {status(301), answer{unknown: true}, answer{unknown: true}, "answered HTTP 301"},
		"silence": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			answer{unknown: true}, answer{again: true, unknown: true}, "did not answer: "},
	} {
		for _, idempotent := range []bool{false, true} {
			var got atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got.Add(1)
				body, _ := io.ReadAll(r.Body)
				if string(body) != `{"a":1}` || r.Header.Get("Idempotency-Key") != "eff_1" ||
					r.Header.Get("Authorization") != "Bearer s3cret-s3cret" {
					t.Errorf("%s: received %s with %v", name, body, r.Header)
				}
				c.serve(w, r)
			}))
			s, err := httptool.NewSender(httptool.Config{
				Name: "deploy", Method: "POST", URL: srv.URL + "/x", Idempotent: idempotent,
				Headers: map[string]string{"Authorization": "Bearer s3cret-s3cret"},
			})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Send(t.Context(), "eff_1", []byte(`{"a":1}`))
			want := c.once
			if idempotent {
				want = c.idempotent
			}
			if have := (answer{a.Taken, a.Again, a.Unknown}); have != want || !strings.Contains(a.Text, c.text) ||
				strings.Contains(a.Text, "s3cret") {
				t.Errorf("%s, idempotent %v: %+v, want %+v", name, idempotent, a, want)
			}
			if n := got.Load(); n != 1 {
				t.Errorf("%s: received %d times", name, n)
			}
			srv.Close()
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
	}
}

// TestSenderNothingSent may send again what did not leave; and says how long the other side asks to wait.
func TestSenderNothingSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s, err := httptool.NewSender(httptool.Config{Name: "deploy", Method: "POST", URL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Send(t.Context(), "k", []byte(`{}`))
	if !a.Again || a.Taken || a.Unknown || !strings.Contains(a.Text, "nothing was sent") {
		t.Errorf("nobody listens: %+v", a)
	}
	srv := httptest.NewServer(status(429))
	defer srv.Close()
	s, err = httptool.NewSender(httptool.Config{Name: "deploy", Method: "PUT", URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Send(t.Context(), "k", []byte(`{}`)); a.After != 7*time.Second || s.Target() != srv.URL {
		t.Errorf("%+v at %s", a, s.Target())
	}
	dated := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(429)
	}))
	defer dated.Close()
	s, err = httptool.NewSender(httptool.Config{Name: "deploy", Method: "PUT", URL: dated.URL})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Send(t.Context(), "k", []byte(`{}`)); a.After < 9*time.Minute || a.After > 10*time.Minute {
		t.Errorf("asked to wait until ten minutes from now: %+v", a)
	}
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		_, err := httptool.NewSender(httptool.Config{Name: "deploy", Method: method, URL: srv.URL})
		if !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
