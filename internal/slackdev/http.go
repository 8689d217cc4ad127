package slackdev

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errTooManyRedirects has the name Slack uses in X-Slack-Retry-Reason.
var errTooManyRedirects = errors.New("too_many_redirects")

func atMostTwoRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) > 2 {
		return errTooManyRedirects
	}
	return nil
}

// SetRequestURL sets where HTTP mode delivers to and, as Slack does when one
// saves the setting, checks the events address with a url_verification
// challenge.
func (w *Workspace) SetRequestURL(ctx context.Context, urls RequestURLs) error {
	challenge := randomHex(20)
	body := encode(map[string]any{"token": "dev", "challenge": challenge, "type": "url_verification"})
	answer, err := w.post(ctx, urls.Events, "application/json", body, nil)
	if err != nil {
		return fmt.Errorf("verify %s: %w", urls.Events, err)
	}
	if !echoes(answer.body, answer.contentType, challenge) {
		return fmt.Errorf("verify %s: the answer does not repeat the challenge", urls.Events)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urls = urls
	return nil
}

// echoes accepts the three forms in which an app may return a challenge.
func echoes(body []byte, contentType, challenge string) bool {
	switch {
	case strings.HasPrefix(contentType, "application/json"):
		var v struct{ Challenge string }
		return json.Unmarshal(body, &v) == nil && v.Challenge == challenge
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		v, err := url.ParseQuery(string(body))
		return err == nil && v.Get("challenge") == challenge
	}
	return strings.TrimSpace(string(body)) == challenge
}

// launchHTTP posts an envelope in the background. w.mu is held.
func (w *Workspace) launchHTTP(env envelope, f *flight) {
	target, contentType, body := w.urls.Events, "application/json", []byte(env.payload)
	header := http.Header{}
	switch env.kind {
	case kindInteractive:
		if w.urls.Interactions != "" {
			target = w.urls.Interactions
		}
		form := url.Values{"payload": {string(env.payload)}}
		contentType, body = "application/x-www-form-urlencoded", []byte(form.Encode())
	case kindCommand:
		if w.urls.Commands != "" {
			target = w.urls.Commands
		}
		contentType, body = "application/x-www-form-urlencoded", formOf(env.payload)
	default:
		if env.attempt > 0 {
			header.Set("X-Slack-Retry-Num", strconv.Itoa(env.attempt))
			header.Set("X-Slack-Retry-Reason", env.reason)
		}
	}
	w.wg.Go(func() {
		answer, err := w.post(w.life, target, contentType, body, header)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.settle(f, outcome{ack: answer.payload(), err: err, noRetry: answer.noRetry})
	})
}

// formOf turns the payload of a command into the form HTTP mode sends.
func formOf(payload json.RawMessage) []byte {
	var fields map[string]string
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil
	}
	form := url.Values{}
	for k, v := range fields {
		form.Set(k, v)
	}
	return []byte(form.Encode())
}

// httpAnswer is what an app returned.
type httpAnswer struct {
	body        []byte
	contentType string
	noRetry     bool
}

// payload is the answer in the form a Socket Mode acknowledgement would have.
func (a httpAnswer) payload() json.RawMessage {
	body := bytes.TrimSpace(a.body)
	switch {
	case len(body) == 0:
		return nil
	case json.Valid(body):
		return body
	default:
		return encode(map[string]any{"text": string(body)})
	}
}

// post sends one signed request. Errors carry Slack's word for the reason.
func (w *Workspace) post(
	ctx context.Context, target, contentType string, body []byte, header http.Header,
) (httpAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return httpAnswer{}, errors.New("connection_failed")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	w.sign(req.Header, body, time.Now())
	resp, err := w.client.Do(req)
	if err != nil {
		return httpAnswer{}, errors.New(failureReason(err))
	}
	defer resp.Body.Close()
	answer := httpAnswer{
		contentType: resp.Header.Get("Content-Type"), noRetry: resp.Header.Get("X-Slack-No-Retry") == "1",
	}
	answer.body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return answer, errors.New(failureReason(err))
	case resp.StatusCode/100 != 2:
		return answer, errors.New("http_error")
	}
	return answer, nil
}

func failureReason(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errTooManyRedirects):
		return "too_many_redirects"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "http_timeout"
	}
	return "connection_failed"
}

// sign adds Slack's signature over the body.
func (w *Workspace) sign(h http.Header, body []byte, at time.Time) {
	ts := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(w.cfg.SigningSecret))
	fmt.Fprintf(mac, "v0:%s:", ts)
	mac.Write(body)
	h.Set("X-Slack-Request-Timestamp", ts)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// Sign returns the two signature headers for a body sent at a time of the
// caller's choice, for tests that forge, replay or age a request.
func (w *Workspace) Sign(body []byte, at time.Time) http.Header {
	h := http.Header{}
	w.sign(h, body, at)
	return h
}
