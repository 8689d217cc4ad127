package openaimodel

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
)

// maxAnswer bounds what is read of one answer, an event stream included.
const maxAnswer = 32 << 20

var (
	errTooLarge = errors.New("the answer is too large")
	errNotJSON  = errors.New("the answer is not JSON")
	errCut      = errors.New("the answer was cut short")
	errSilent   = errors.New("no answer in time")
)

// exchange makes one attempt without streaming.
func (m *Model) exchange(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, *http.Response, error) {
	body, err := m.encode(req, false)
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	res, err := m.post(ctx, body, &data, nil)
	if err != nil {
		return nil, res, err
	}
	answer, err := decode(data)
	return answer, res, err
}

// post sends a body through the client. into is a *[]byte for the whole answer or a **http.Response for a stream; the
// client's own types are passed by, because they do not keep what they do not know, and cost more than all the rest.
// onRead, if set, is called whenever a piece of the answer arrives.
func (m *Model) post(ctx context.Context, body []byte, into any, onRead func()) (*http.Response, error) {
	var res *http.Response
	_, err := m.client.Responses.New(ctx, responses.ResponseNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(into),
		option.WithResponseInto(&res),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(r)
			if err == nil {
				res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer, onRead: onRead}
			}
			return res, err
		}))
	return res, err
}

// bounded is a body that fails past its bound instead of filling the memory.
type bounded struct {
	io.ReadCloser
	left   int
	onRead func()
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.onRead != nil && n > 0 {
		b.onRead()
	}
	if b.left -= n; b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// watchdog ends a context when nothing happens for a while.
type watchdog struct {
	timer *time.Timer
	limit time.Duration
}

// newWatchdog returns a context that ends with errSilent when the watchdog is not fed for so long. Call stop when done.
func newWatchdog(ctx context.Context, limit time.Duration) (_ context.Context, w *watchdog, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &watchdog{limit: limit}
	w.timer = time.AfterFunc(limit, func() { cancel(errSilent) })
	return ctx, w, func() { w.timer.Stop(); cancel(nil) }
}

func (w *watchdog) feed() { w.timer.Reset(w.limit) }

// mediaType returns the media type of an answer, or "".
func mediaType(res *http.Response) string {
	if res == nil {
		return ""
	}
	t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return strings.ToLower(t)
}
