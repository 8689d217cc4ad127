package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// timing are the socket's clocks; tests shorten them.
type timing struct {
	hello     time.Duration // from dialling to hello
	silence   time.Duration // without any frame, ping or pong the connection is dead
	ping      time.Duration // between our pings
	write     time.Duration
	linger    time.Duration // a replaced connection stays open for acknowledgements
	lived     time.Duration // a connection that lived this long was a good one
	firstWait time.Duration
	mostWait  time.Duration
	slowWait  time.Duration // when Slack says that coming back soon is useless
}

func defaultTiming() timing {
	return timing{
		hello: 15 * time.Second, silence: 40 * time.Second, ping: 10 * time.Second, write: 5 * time.Second,
		linger: 5 * time.Second, lived: 30 * time.Second,
		firstWait: 500 * time.Millisecond, mostWait: 10 * time.Second, slowWait: time.Minute,
	}
}

// socket keeps one Socket Mode connection open. A second one exists only while it takes the place of the first.
type socket struct {
	clock   timing
	open    func(ctx context.Context) (address string, err error)
	deliver func(envelope)
	log     *slog.Logger
	dialer  websocket.Dialer
	hello   func(appID string)
	ready   readiness

	mu      sync.Mutex
	current *link
}

func newSocket(b *Bot) *socket {
	return &socket{
		clock: defaultTiming(),
		open:  func(ctx context.Context) (string, error) { return b.client.openSocket(ctx, b.app) },
		hello: b.client.learnApp,
		// One frame per message: Slack loses continuation frames.
		dialer: websocket.Dialer{
			HandshakeTimeout: 10 * time.Second, ReadBufferSize: 32 << 10, WriteBufferSize: 32 << 10,
		},
		log: b.log, deliver: b.fromSocket,
	}
}

// openSocket asks for the address of a new connection. The address is a secret.
func (c *Client) openSocket(ctx context.Context, appToken string) (string, error) {
	var answer struct {
		URL string `json:"url"`
	}
	if _, err := c.call(ctx, methodOpenSocket, appToken, url.Values{}, &answer); err != nil {
		return "", tokenError("SLACK_APP_TOKEN", err)
	}
	if answer.URL == "" {
		return "", fmt.Errorf("call %s: the answer has no address", methodOpenSocket)
	}
	return answer.URL, nil
}

// run keeps a connection open until ctx ends (nil) or Slack refuses the app token for good (*TokenError).
func (s *socket) run(ctx context.Context) error {
	var links sync.WaitGroup
	defer links.Wait()
	defer s.ready.set(false)
	var present, former *link // former was replaced and may still be open for acknowledgements
	defer func() { present.close(); former.close() }()
	var wait backoff
	for {
		former.close()
		fresh, err := s.connect(ctx, &links)
		var refused *TokenError
		switch {
		case ctx.Err() != nil:
			fresh.close()
			return nil
		case errors.As(err, &refused) && !suspended(refused.Word):
			return fmt.Errorf("socket mode: %w", refused)
		case err != nil:
			s.log.Warn("socket mode: cannot connect", "error", err)
			s.ready.set(present.open())
			wait.failed()
			wait.least, _ = limited(err)
		default:
			former, present = present, fresh
			s.replace(present, former)
			began := time.Now()
			slow := s.attend(ctx, present)
			wait.ended(time.Since(began) >= s.clock.lived, slow)
		}
		if !sleep(ctx, wait.delay(s.clock)) {
			return nil
		}
	}
}

// replace makes fresh the connection in use and lets the former one go.
func (s *socket) replace(fresh, former *link) {
	s.mu.Lock()
	s.current = fresh
	s.mu.Unlock()
	s.ready.set(true)
	s.log.Info("socket mode: connected")
	former.retire(s.clock.linger)
}

// attend waits until the connection has to be replaced. slow says that Slack does not want us back soon.
func (s *socket) attend(ctx context.Context, l *link) (slow bool) {
	select {
	case <-ctx.Done():
		return false
	case <-l.gone:
		s.ready.set(false)
		s.log.Warn("socket mode: the connection broke", "error", l.err)
		return false
	case reason := <-l.leaving:
		if l.deaf = reason == "link_disabled" || reason == "too_many_websockets"; l.deaf {
			s.ready.set(false) // from before the words are in the log
		}
		return s.asked(reason)
	}
}

// asked tells what Slack's reason for ending a connection means.
func (s *socket) asked(reason string) (slow bool) {
	switch reason {
	case "warning", "refresh_requested":
		s.log.Info("socket mode: Slack asks for a new connection", "reason", reason)
	case "link_disabled":
		s.log.Error("socket mode: it is switched off in the app's settings; " +
			"switch it on, or use COUNTERSIGN_SLACK_MODE=http")
		return true
	case "too_many_websockets": // the place of one that ends is free at once; the waits grow while there is none
		s.log.Error("socket mode: the app has ten connections already; stop other copies of the bot")
	default:
		s.log.Warn("socket mode: Slack ends the connection", "reason", label(reason, 80))
	}
	return false
}

// connect opens a connection and waits for hello.
func (s *socket) connect(ctx context.Context, links *sync.WaitGroup) (*link, error) {
	address, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.clock.hello)
	defer cancel()
	ws, resp, err := s.dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, dialError(err, resp)
	}
	l := newLink(ws, s)
	links.Go(l.read)
	links.Go(l.keepAlive)
	select {
	case <-l.hello:
		return l, nil
	case reason := <-l.leaving:
		l.close()
		s.asked(reason)
		return nil, fmt.Errorf("sent away: %s", label(reason, 80))
	case <-l.gone:
		return nil, fmt.Errorf("lost before hello: %w", l.err)
	case <-ctx.Done():
		l.close()
		return nil, errors.New("no hello in time")
	}
}

// backoff says how long to wait before the next connection, from how the last ones went.
type backoff struct {
	failures int
	slow     bool
	least    time.Duration // what Slack has asked to wait
}

func (b *backoff) failed() { b.failures++ }

// ended reports how a connection went that had said hello.
func (b *backoff) ended(good, slow bool) {
	b.slow, b.least = slow, 0
	if good {
		b.failures = 0
		return
	}
	b.failures++
}

func (b *backoff) delay(t timing) time.Duration {
	switch {
	case b.least > 0:
		return b.least + jitter(t.firstWait)
	case b.slow:
		return jitter(t.slowWait)
	case b.failures <= 1:
		return jitter(min(t.firstWait, t.firstWait*time.Duration(b.failures)))
	}
	return jitter(min(t.firstWait<<min(b.failures-1, 16), t.mostWait))
}

// jitter spreads a wait over its upper half.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d/2+1)
}

// sleep waits and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// maxAck is how many bytes an acknowledgement may not have: Slack drops those without a word.
const maxAck = 20 << 10

// fitsAck reports whether an acknowledgement has room for the payload.
func fitsAck(payload any) bool {
	raw, err := json.Marshal(payload)
	return err == nil && len(raw) < maxAck-1<<10
}

// ack answers an envelope, on the connection it came by or, when that is gone, on the present one.
func (s *socket) ack(l *link, id string, payload any) error {
	frame := struct {
		Envelope string `json:"envelope_id"`
		Payload  any    `json:"payload,omitempty"`
	}{id, payload}
	raw, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	if len(raw) >= maxAck {
		s.log.Error("an acknowledgement was too large and went without its answer", "bytes", len(raw))
		raw, _ = json.Marshal(map[string]string{"envelope_id": id})
	}
	err = l.write(raw)
	s.mu.Lock()
	present := s.current
	s.mu.Unlock()
	if err != nil && present != nil && present != l {
		err = present.write(raw)
	}
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}
