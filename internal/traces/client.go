package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The waits between attempts, and how much of an answer is read so that its connection can be used again.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 5 * time.Second
	maxAnswer = 64 << 10
)

// client posts batches to a collector. What cannot be sent is dropped and logged; no run waits for it.
type client struct {
	cfg  *Config
	http *http.Client
	log  *slog.Logger
	// atEnd has fn called when nothing is to be sent any more; stop takes that back.
	atEnd func(fn func()) (stop func() bool)
}

var _ otlptrace.Client = (*client)(nil)

// newClient returns a client that sends until ending is over.
func newClient(ending context.Context, cfg *Config, log *slog.Logger) *client {
	atEnd := func(fn func()) func() bool { return context.AfterFunc(ending, fn) }
	c := &client{cfg: cfg, log: log, atEnd: atEnd, http: &http.Client{
		// A redirect would carry the headers to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		c.http.Transport = t.Clone()
	}
	return c
}

// Start is part of otlptrace.Client. Nothing is asked of the collector before there is something to tell.
func (c *client) Start(context.Context) error { return nil }

// Stop is part of otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces is part of otlptrace.Client. It returns nil also when nothing was sent: the log has been told.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.timeout)
	defer cancel()
	defer c.atEnd(cancel)()
	if err := c.upload(ctx, spans); err != nil {
		c.log.Warn("traces are lost", "error", err)
	}
	return nil
}

// upload sends a batch, again when the collector asks for that or cannot be reached, until ctx ends.
func (c *client) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// A request of the protocol has the same form as the message TracesData.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if c.cfg.gzip {
		if body, err = pack(body); err != nil {
			return err
		}
	}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		after, err := c.post(ctx, body)
		if err == nil || after < 0 {
			return err
		}
		pause := time.NewTimer(max(after, wait/2+rand.N(wait/2)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), err)
		}
	}
}

func pack(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	return packed.Bytes(), nil
}

// post makes one attempt. When it fails, after is how long to wait at least before the next, or negative when there is
// to be none.
func (c *client) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, fmt.Errorf("make the request: %w", err)
	}
	for name, values := range c.cfg.headers {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if c.cfg.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return 0, fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // an answer that breaks off says nothing
		if n := notTaken(said); n > 0 {
			return -1, fmt.Errorf("send spans: the collector has not taken %d spans of a batch", n)
		}
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return retryAfter(resp), fmt.Errorf("send spans: the collector answered %d", resp.StatusCode)
	}
	return -1, fmt.Errorf("send spans: the collector answered %d", resp.StatusCode)
}

// notTaken returns how many spans of a batch the collector says that it has not taken, which is field 1 of field 1 of
// its answer: https://opentelemetry.io/docs/specs/otlp/#partial-success-1. The type for it would bring gRPC along. Why
// is in the answer too, and may hold anything.
func notTaken(answer []byte) uint64 {
	rejected, ok := field(answer, 1, protowire.BytesType)
	if !ok {
		return 0
	}
	inner, _ := protowire.ConsumeBytes(rejected)
	count, ok := field(inner, 1, protowire.VarintType)
	if !ok {
		return 0
	}
	n, _ := protowire.ConsumeVarint(count)
	return n
}

// field returns the value of the field of a message, and what is behind it; ok is false where it is not there whole.
func field(message []byte, number protowire.Number, kind protowire.Type) (value []byte, ok bool) {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(num, typ, message)
		switch {
		case size < 0:
			return nil, false
		case num == number && typ == kind:
			return message, true
		}
		message = message[size:]
	}
	return nil, false
}

// retryAfter returns how long the collector wants to be left alone.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
