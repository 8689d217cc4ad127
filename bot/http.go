package bot

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"time"
)

// The paths of HTTP mode. Each takes events, interactions and commands.
const (
	PathEvents       = "/slack/events"
	PathInteractions = "/slack/interactions"
	PathCommands     = "/slack/commands"
)

const (
	maxBody   = 4 << 20         // of a request
	maxSkew   = 5 * time.Minute // between Slack's clock and ours
	ackWithin = 2900 * time.Millisecond
)

// Handler serves Slack's requests in HTTP mode. Requests that Slack did not sign within the last five minutes get 401
// and nothing happens, but for the probe of the certificate, which Slack does not sign: it gets 200, and nothing
// happens either. 200 is written after the service has committed.
func (b *Bot) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{PathEvents, PathInteractions, PathCommands} {
		mux.HandleFunc("POST "+path, b.signed(b.httpDelivery))
	}
	return mux
}

// signed passes on requests that carry Slack's signature over their body, which is next's until it returns.
func (b *Bot) signed(next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := takeBuffer(r.ContentLength)
		defer buffer.giveBack()
		_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
		body := buffer.Bytes()
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		case err != nil:
			http.Error(w, "unreadable", http.StatusBadRequest)
		case isProbe(r.Header, body): // also when it is signed
		default:
			now := time.Now()
			if why := verify(b.secret, r.Header, body, now); why != nil {
				if n := b.refused.note(why, now); n > 0 {
					b.log.Warn("requests were refused", "why", why, "requests", n, "path", r.URL.Path)
				}
				http.Error(w, "unauthorized", http.StatusUnauthorized)
				return
			}
			next(w, r, body)
		}
	}
}

// isProbe reports whether Slack is only trying out the address and its certificate: a form with ssl_check=1 and at most
// the old verification token. A form that asks for anything else is none, whatever it says of itself.
func isProbe(h http.Header, body []byte) bool {
	const most = 256
	if len(body) > most {
		return false
	}
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return false
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return false
	}
	for name, values := range form {
		if len(values) != 1 || name != "ssl_check" && name != "token" {
			return false
		}
	}
	return form.Get("ssl_check") == "1"
}

// httpDelivery takes what Slack sends to any of the paths: an app may have one address for everything, as Bolt's users
// do. Events are JSON, interactions a form with a payload, and every other form is a command.
func (b *Bot) httpDelivery(w http.ResponseWriter, r *http.Request, body []byte) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) { // no form begins so
		b.httpEvent(w, r, body)
		return
	}
	decoded := takeBuffer(int64(len(body)))
	defer decoded.giveBack()
	payload, alone, err := onlyField(decoded.AvailableBuffer(), body, "payload")
	if alone && err == nil {
		b.await(w, r, kindInteractive, payload)
		return
	}
	var form url.Values
	if err == nil {
		form, err = url.ParseQuery(string(body))
	}
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	if form.Has("payload") {
		b.await(w, r, kindInteractive, []byte(form.Get("payload")))
		return
	}
	b.httpCommand(w, r, form)
}

func (b *Bot) httpEvent(w http.ResponseWriter, r *http.Request, body []byte) {
	var p struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(body, &p) == nil && p.Type == "url_verification" {
		writeJSON(w, map[string]string{"challenge": p.Challenge})
		return
	}
	b.await(w, r, kindEvent, body)
}

func (b *Bot) httpCommand(w http.ResponseWriter, r *http.Request, form url.Values) {
	fields := map[string]string{}
	for name := range form {
		fields[name] = form.Get(name)
	}
	payload, err := json.Marshal(fields)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	b.await(w, r, kindCommand, payload)
}

// await hands a payload over and writes the answer when its handler has acknowledged it. What is not acknowledged in
// time is a 503: Slack delivers events again.
func (b *Bot) await(w http.ResponseWriter, r *http.Request, kind string, payload []byte) {
	type outcome struct {
		payload any
		err     error
	}
	done := make(chan outcome, 1)
	b.intake(kind, payload, receipts{
		ack:    func(payload any) error { done <- outcome{payload: payload}; return nil },
		refuse: func(reason error) { done <- outcome{err: reason} },
	})
	timer := time.NewTimer(ackWithin)
	defer timer.Stop()
	select {
	case o := <-done:
		switch {
		case o.err != nil:
			http.Error(w, "try again", http.StatusServiceUnavailable)
		case o.payload != nil:
			writeJSON(w, o.payload)
		}
	case <-timer.C:
		http.Error(w, "try again", http.StatusServiceUnavailable)
	case <-r.Context().Done():
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}
