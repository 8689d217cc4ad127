package openaimodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"countersign/agent"
	"countersign/agent/internal/plainhttp"
)

// protocol is how one of the APIs is spoken: what goes over the wire, and what comes back means. Retries, time limits
// and errors are the same for all. Implementations are safe for concurrent use.
type protocol interface {
	// name is what errors call the API.
	name() string
	// encode writes the body of a request. Its error wraps agent.ErrConfig: nothing was sent.
	encode(req *agent.ModelRequest, stream bool) ([]byte, error)
	// path is where requests go, below the base URL.
	path() string
	// decode reads a whole answer.
	decode(data []byte) (*agent.ModelResponse, error)
	// distinguish gives calls of the answer ids that no call of the request has.
	distinguish(req *agent.ModelRequest, answer *agent.ModelResponse) error
	// consume reads an event stream to the end of the answer.
	consume(s *eventStream, l *listener) (*agent.ModelResponse, error)
	// adapt reports whether a refused request is worth sending again at once, because from now on requests are written
	// without what the server refused. It judges by e.said: e.Message lacks what is also said in the conversation.
	adapt(e *Error) bool
}

// maxAnswer bounds what is read of one answer, an event stream included.
const maxAnswer = 32 << 20

var (
	errTooLarge = errors.New("the answer is too large")
	errNotJSON  = errors.New("the answer is not JSON")
	errCut      = errors.New("the answer was cut short")
	errSilent   = errors.New("no answer in time")
)

// exchange makes one attempt. With streaming it calls alive whenever something arrives.
func (m *Model) exchange(
	ctx context.Context, req *agent.ModelRequest, stream bool, l *listener, alive func(),
) (*agent.ModelResponse, *http.Response, error) {
	body, err := m.api.encode(req, stream)
	if err != nil {
		return nil, nil, err
	}
	if !stream {
		var data []byte
		res, err := m.post(ctx, body, &data, nil)
		if err != nil {
			return nil, res, err
		}
		answer, err := m.api.decode(data)
		if err == nil {
			err = m.api.distinguish(req, answer)
		}
		return answer, res, err
	}
	var raw *http.Response
	res, err := m.post(ctx, body, &raw, alive)
	if err != nil {
		return nil, res, err
	}
	defer raw.Body.Close()
	answer, err := m.receive(raw, l)
	if err == nil {
		err = m.api.distinguish(req, answer)
	}
	return answer, res, err
}

// receive reads the answer to a request for an event stream.
func (m *Model) receive(res *http.Response, l *listener) (*agent.ModelResponse, error) {
	if mediaType(res) == "text/event-stream" {
		return m.api.consume(newEventStream(res), l)
	}
	data, err := io.ReadAll(res.Body) // a server that does not stream, or a page of a proxy
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	answer, err := m.api.decode(data)
	if err == nil {
		l.whole(answer)
	}
	return answer, err
}

// post sends a body through the client. into is a *[]byte for the whole answer or a **http.Response for a stream; the
// client's own types are passed by, because they do not keep what they do not know, and cost more than all the rest. So
// it does not matter that the client is one for responses only: those of the whole API would make the program half as
// large again. onRead, if set, is called whenever a piece of the answer arrives.
func (m *Model) post(ctx context.Context, body []byte, into any, onRead func()) (*http.Response, error) {
	var res *http.Response
	_, err := m.client.Cancel(ctx, "none", // of the client's posts the one that has nothing to encode
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(into),
		option.WithResponseInto(&res),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			r.URL = r.URL.JoinPath("..", "..", "..", m.api.path())
			res, err := plainhttp.Answer(next(r))
			if err == nil {
				res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer, onRead: onRead}
			}
			return res, err
		}))
	return res, err
}

// decodeAnswer reads a whole answer into v.
func decodeAnswer(data []byte, v any) error {
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return errNotJSON
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return nil
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
