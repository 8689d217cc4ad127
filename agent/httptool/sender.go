package httptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/agent/internal/oneline"
	"countersign/agent/toolstatus"
)

// Sender sends JSON bodies to one address, for calls that are carried out there and answered later.
type Sender struct{ tool *tool }

// Answer is what is known of a body that was to be sent.
type Answer struct {
	// Taken says that it was answered with a status below 300.
	Taken bool
	// Again says that sending it once more with the same key is safe: nothing was sent, the other side says that it did
	// nothing, or Config.Idempotent. After is how long the other side asks to be left alone; zero: it does not say.
	Again bool
	After time.Duration
	// Unknown says that the other side may have taken it all the same: it was sent, as far as can be told, and was not
	// answered, or by a status that does not say what was done before (301, 302, 303, 408, 500 and above).
	Unknown bool
	// Text says it in words: the status, or why there is none. It holds no secret and nothing of the answer's body.
	Text string
}

// NewSender returns what sends to the URL that cfg declares, with POST, PUT or PATCH. Fields about arguments and
// answers' bodies are not used. Its error wraps [agent.ErrConfig] and names the place.
func NewSender(cfg Config) (*Sender, error) {
	cfg.Parameters, cfg.Validate = nil, nil
	d, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if !d.hasBody() {
		return nil, d.wrong("method", "must be POST, PUT or PATCH")
	}
	return &Sender{&tool{declared: d, transport: newTransport(d)}}, nil
}

// Binding lists what decisions are bound to: method, URL as written with the host it stands for, names of headers.
func (s *Sender) Binding() []string { return s.tool.binding() }

// Target names the place where the sender sends to: scheme and host.
func (s *Sender) Target() string { return s.tool.url.Scheme + "://" + hostOf(s.tool.url) }

// Idempotent reports whether a body may be sent again with the same key.
func (s *Sender) Idempotent() bool { return s.tool.Idempotent }

// Send sends the body, with key as Idempotency-Key, and waits for the answer's status for as long as Config.Timeout.
// Redirects are not followed.
func (s *Sender) Send(ctx context.Context, key string, body []byte) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, s.tool.Timeout, errTimeout)
	defer cancel()
	r, err := s.tool.request(&agent.ToolCall{Arguments: body, EffectID: key})
	if err != nil {
		return Answer{Text: "nothing was sent: " + err.Error()}
	}
	x := &exchange{tool: s.tool, trusted: true}
	res, err := x.follow(ctx, r)
	if err != nil {
		return s.unanswered(ctx, x, err)
	}
	defer res.Body.Close()
	return s.answered(res)
}

// unanswered says what is known of a body to which no status came.
func (s *Sender) unanswered(ctx context.Context, x *exchange, err error) Answer {
	problem := x.problem(ctx, err)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		problem = "the program was stopped"
	}
	host := oneline.Of(x.host, 200)
	if !x.sent.Load() {
		return Answer{Again: true, Text: fmt.Sprintf("%s could not be reached: %s; nothing was sent", host, problem)}
	}
	return Answer{
		Again: s.tool.Idempotent, Unknown: true, Text: fmt.Sprintf("%s did not answer: %s", host, problem),
	}
}

// idempotentAgain are statuses after which an idempotent request may succeed when it is sent again.
var idempotentAgain = []int{http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// answered judges a status. After 429, and after other statuses below 500, the other side has done nothing. One that
// fails, or gives up waiting, may have done it before, and what stands in front of it does not know; one that leads to
// another place may say there what it has done, or may want the caller to log in. The key alone is no reason to send it
// again: whether the other side looks at it, Config.Idempotent says.
func (s *Sender) answered(res *http.Response) Answer {
	a := Answer{
		Taken:   res.StatusCode < 300,
		Unknown: toolstatus.Status{HTTP: res.StatusCode}.MayHaveActed(),
		Text:    s.tool.hidden.Hide(oneline.Of(hostOf(s.tool.url)+" answered "+statusLine(res), 300)),
	}
	a.Again = res.StatusCode == http.StatusTooManyRequests ||
		s.tool.Idempotent && slices.Contains(idempotentAgain, res.StatusCode)
	a.After = retryAfter(res.Header.Get("Retry-After"))
	return a
}

// retryAfter reads how long to wait, in seconds or until a date, and at most an hour; zero when it does not say.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(n, 0), int(time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), time.Hour)
	}
	return 0
}
