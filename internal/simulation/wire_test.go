package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

var errReset = errors.New("connection reset by peer")

// wire is a network in one direction: it hands requests to whoever listens, and breaks them as the dice fall.
type wire struct {
	name string
	dice *dice
	to   func() http.Handler // who listens now; nil: nobody
	wg   *sync.WaitGroup
	// chances in a thousand of what can become of a request
	lost, unanswered, twice, late int
	broken                        func(*http.Request) *http.Response // another answer instead; nil: none
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	if w.dice.fault(w.name+" late", w.late) {
		if err := wait(req.Context(), w.dice.pause(w.name+" how late", 8*time.Second)); err != nil {
			return nil, err
		}
	}
	if w.dice.fault(w.name+" lost", w.lost) {
		return nil, errReset
	}
	if w.broken != nil {
		if resp := w.broken(req); resp != nil {
			return resp, nil
		}
	}
	if w.dice.fault(w.name+" twice", w.twice) {
		after := w.dice.pause(w.name+" when again", 90*time.Second)
		w.wg.Go(func() {
			time.Sleep(after)
			w.deliver(context.WithoutCancel(req.Context()), req, body) //nolint:errcheck // nobody waits for it
		})
	}
	resp, err := w.deliver(req.Context(), req, body)
	if err == nil && w.dice.fault(w.name+" unanswered", w.unanswered) {
		return nil, errReset
	}
	return resp, err
}

// deliver has the request served, and returns when that is done or the client has gone.
func (w *wire) deliver(ctx context.Context, req *http.Request, body []byte) (*http.Response, error) {
	h := w.to()
	if h == nil {
		return nil, errReset
	}
	ctx, cancel := context.WithCancel(ctx)
	arrived := req.Clone(ctx)
	arrived.Body, arrived.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	arrived.RequestURI, arrived.RemoteAddr, arrived.Host = req.URL.RequestURI(), "192.0.2.1:1", req.URL.Host
	answer := httptest.NewRecorder()
	done := make(chan bool, 1)
	w.wg.Go(func() {
		defer cancel()
		ok := false
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				panic(v)
			}
			done <- ok
		}()
		h.ServeHTTP(answer, arrived)
		ok = true
	})
	select {
	case ok := <-done:
		if !ok {
			return nil, errReset
		}
		resp := answer.Result()
		resp.Request = req
		return resp, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
