package openaimodel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

const completed = `{"id":"r","status":"completed","output":[]}`

// bubble asks a model whose network is in memory and whose clock is the bubble's.
func bubble(
	t *testing.T, rt roundTripper, change func(*openaimodel.Config),
) (waits []time.Duration, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, rt, func(c *openaimodel.Config) {
			c.MaxAttempts = 0
			c.OnRetry = func(_ int, wait time.Duration, _ error) { waits = append(waits, wait) }
			if change != nil {
				change(c)
			}
		})
		start := time.Now()
		_, err = m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hi")}})
		took = time.Since(start)
	})
	return waits, took, err
}

func TestRetries(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) func(int, *http.Request) (*http.Response, error) {
		return func(int, *http.Request) (*http.Response, error) {
			return answer(code, `{"error":{"message":"no"}}`, header...), nil
		}
	}
	body := func(text string, header ...string) func(int, *http.Request) (*http.Response, error) {
		return func(int, *http.Request) (*http.Response, error) { return answer(200, text, header...), nil }
	}
	hang := func(_ int, r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	switched := func(int, *http.Request) (*http.Response, error) { // what is read from there heeds no context
		res := answer(http.StatusSwitchingProtocols, "", "Connection", "Upgrade", "Upgrade", "h2c")
		res.Body, _ = io.Pipe()
		return res, nil
	}
	for _, tt := range []struct {
		why      string
		fail     func(n int, r *http.Request) (*http.Response, error)
		failures int // how many attempts fail before one succeeds
		stream   bool
		attempts int // attempts made
		ok       bool
	}{
		{"server error passes", status(500), 4, false, 5, true},
		{"bad gateway passes", status(502), 1, false, 2, true},
		{"timeout status passes", status(408), 1, false, 2, true},
		{"conflict passes", status(409), 1, false, 2, true},
		{"too fast passes", status(429), 3, false, 4, true},
		{"connection refused passes", func(int, *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		}, 2, false, 3, true},
		{"cut answer passes", body(`{"id":"r","output":[`), 1, false, 2, true},
		{"cut stream passes",
			body("data: {\"type\":\"response.created\"}\n\n", "Content-Type", "text/event-stream"), 1, true, 2, true},
		{"failed response passes",
			body(`{"id":"r","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`),
			1, false, 2, true},
		{"the server says try again", status(400, "X-Should-Retry", "true"), 1, false, 2, true},
		{"never gets better", status(503), 99, false, openaimodel.DefaultMaxAttempts, false},
		{"bad request stays", status(400), 99, false, 1, false},
		{"no right stays", status(401), 99, false, 1, false},
		{"forbidden stays", status(403), 99, false, 1, false},
		{"not found stays", status(404), 99, false, 1, false},
		{"the server says do not", status(500, "X-Should-Retry", "false"), 99, false, 1, false},
		{"quota stays", func(int, *http.Request) (*http.Response, error) {
			return answer(429, `{"error":{"message":"no money","code":"insufficient_quota"}}`), nil
		}, 99, false, 1, false},
		{"prompt stays",
			body(`{"id":"r","status":"failed","error":{"code":"invalid_prompt","message":"x"},"output":[]}`), 99, false,
			1, false},
		{"token limit stays",
			body(`{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`),
			99, false, 1, false},
		{"no JSON stays", body(`<html>`), 99, false, 1, false},
		{"longer than the budget stays", status(429, "Retry-After", "121"), 99, false, 1, false},
		{"another protocol passes", switched, 1, false, 2, true},
		{"another protocol passes, streaming", switched, 1, true, 2, true},
		{"silence: two attempts fill the budget", hang, 99, false, 2, false},
		{"silence passes", hang, 1, false, 2, true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			waits, took, err := bubble(t, func(r *http.Request) (*http.Response, error) {
				attempts++
				if attempts <= tt.failures {
					return tt.fail(attempts, r)
				}
				return answer(200, completed), nil
			}, func(c *openaimodel.Config) { c.Streaming = tt.stream })
			if attempts != tt.attempts || (err == nil) != tt.ok || len(waits) != attempts-1 {
				t.Fatalf("%d attempts, waits %v, err %v; want %d attempts", attempts, waits, err, tt.attempts)
			}
			if took > openaimodel.DefaultBudget {
				t.Errorf("took %v, more than the budget", took)
			}
			if e, ok := errors.AsType[*openaimodel.Error](err); err != nil && (!ok || e.Attempts != attempts) {
				t.Errorf("error %#v does not count %d attempts", err, attempts)
			}
		})
	}
}

func TestWaitsDoubleWithJitter(t *testing.T) {
	t.Parallel()
	waits, took, err := bubble(t, func(*http.Request) (*http.Response, error) { return answer(500, ""), nil }, nil)
	if err == nil || !strings.Contains(err.Error(), "(tried 8 times)") {
		t.Errorf("err %v", err)
	}
	want := []time.Duration{500, 1000, 2000, 4000, 8000, 8000, 8000}
	var sum time.Duration
	for i, w := range waits {
		full := want[i] * time.Millisecond
		if w > full || w <= full*3/4-1 {
			t.Errorf("wait %d is %v, want up to a quarter less than %v", i+1, w, full)
		}
		sum += w
	}
	if len(waits) != len(want) || took != sum {
		t.Errorf("waits %v took %v", waits, took)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "20", 20 * time.Second},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After", "Sat, 01 Jan 2000 00:00:11 GMT", 11 * time.Second}, // the bubble's clock starts at midnight
	} {
		n := 0
		waits, took, err := bubble(t, func(*http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return answer(429, "{}", tt.name, tt.value), nil
			}
			return answer(200, completed), nil
		}, nil)
		if err != nil || !slices.Equal(waits, []time.Duration{tt.want}) || took != tt.want {
			t.Errorf("%s: %s: waits %v, took %v, err %v", tt.name, tt.value, waits, took, err)
		}
	}
	for _, bad := range []string{"soon", "-3", "NaN", "Fri, 31 Dec 1999 00:00:00 GMT", "0"} {
		n := 0
		waits, _, err := bubble(t, func(*http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return answer(429, "{}", "Retry-After", bad), nil
			}
			return answer(200, completed), nil
		}, nil)
		if err != nil || len(waits) != 1 || waits[0] > 500*time.Millisecond || waits[0] < 375*time.Millisecond {
			t.Errorf("Retry-After %q: waits %v, err %v; want the usual first wait", bad, waits, err)
		}
	}
	_, _, err := bubble(t, func(*http.Request) (*http.Response, error) {
		return answer(429, "{}", "Retry-After", "1e30"), nil
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "it asks to wait 24h0m0s") {
		t.Errorf("endless Retry-After: %v", err)
	}
}

// The caller's context ends the wait and the attempt at once, and is what the error says.
func TestContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("lease lost")
	for _, tt := range []struct {
		why string
		rt  roundTripper
	}{
		{"while waiting",
			func(*http.Request) (*http.Response, error) { return answer(503, "{}", "Retry-After", "60"), nil }},
		{"while asking", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(reason) })
			start := time.Now()
			m := newModel(t, tt.rt, func(c *openaimodel.Config) {
				c.MaxAttempts = 2
				c.OnRetry = func(attempt int, _ time.Duration, err error) {
					if errors.Is(err, context.Canceled) {
						t.Errorf("%s: the end of the context counts as a failed attempt", tt.why)
					}
				}
			})
			_, err := m.Respond(ctx, &agent.ModelRequest{})
			if !errors.Is(err, reason) || time.Since(start) != 3*time.Second {
				t.Errorf("%s: %v after %v", tt.why, err, time.Since(start))
			}
		})
	}
}

// drip is a stream whose pieces arrive with pauses between them.
type drip struct {
	pieces []string
	pause  time.Duration
	ctx    context.Context
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.pause):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	if len(d.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.pieces[0])
	d.pieces = d.pieces[1:]
	return n, nil
}

func (*drip) Close() error { return nil }

// A stream may take longer than the budget as long as something arrives; without streaming, or in silence, it may not.
func TestSlowStreamIsNotDead(t *testing.T) {
	t.Parallel()
	const event = "data: {\"type\":\"keepalive\"}\n\n"
	slow := func(pause time.Duration) roundTripper {
		return func(r *http.Request) (*http.Response, error) {
			res := answer(200, "", "Content-Type", "text/event-stream")
			pieces := append(slices.Repeat([]string{event}, 10),
				"data: {\"type\":\"response.completed\",\"response\":"+completed+"}\n\n")
			res.Body = &drip{pieces: pieces, pause: pause, ctx: r.Context()}
			return res, nil
		}
	}
	_, took, err := bubble(t, slow(time.Minute), func(c *openaimodel.Config) { c.Streaming = true })
	if err != nil || took != 11*time.Minute {
		t.Errorf("slow stream: %v after %v", err, took)
	}
	_, took, err = bubble(t, slow(3*time.Minute), func(c *openaimodel.Config) { c.Streaming = true })
	if err == nil || took > openaimodel.DefaultBudget || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("silent stream: %v after %v", err, took)
	}
}
