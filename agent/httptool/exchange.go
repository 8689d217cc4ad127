package httptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/agent/internal/oneline"
	"countersign/agent/internal/plainhttp"
)

const maxRedirects = 5

// exchange is one call on the wire, redirects included.
type exchange struct {
	tool    *tool
	sent    atomic.Bool // a connection was there, so something may have been sent
	trusted bool        // no other host was involved so far
	host    string      // the host of the request under way
	note    string      // why a redirect was not followed
}

// follow sends the request, and goes where it is redirected to as far as that is allowed.
func (x *exchange) follow(ctx context.Context, r *http.Request) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
	})
	for hop := 0; ; hop++ {
		x.host = r.URL.Host
		res, err := plainhttp.Answer(x.tool.transport.RoundTrip(r.WithContext(ctx)))
		if err != nil {
			return nil, err
		}
		next, why := x.next(r, res, hop)
		if next == nil {
			x.note = why
			return res, nil
		}
		_ = res.Body.Close()
		r = next
	}
}

// next is the request that a redirect asks for, or nil and, if it is refused, why.
func (x *exchange) next(r *http.Request, res *http.Response, hop int) (_ *http.Request, why string) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, ""
	}
	target, err := r.URL.Parse(res.Header.Get("Location"))
	switch {
	case err != nil || res.Header.Get("Location") == "":
		return nil, "The redirect says no usable place to go to."
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return nil, "The redirect to " + hostOf(target) + " was not followed: only GET and HEAD are."
	case hop == maxRedirects:
		return nil, fmt.Sprintf("The redirect to %s was not followed: it was number %d.", hostOf(target), hop+1)
	case target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || target.User != nil:
		return nil, "The redirect was not followed: it leads to no plain http or https address."
	case r.URL.Scheme == "https" && target.Scheme == "http":
		return nil, "The redirect to " + hostOf(target) + " was not followed: it gives up encryption."
	}
	target.Fragment, target.RawFragment = "", ""
	next := &http.Request{
		Method: r.Method, URL: target, Header: make(http.Header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	x.trusted = x.trusted && sameOperator(x.tool.url, target)
	if x.trusted {
		next.Host = x.tool.host
		x.tool.addHeader(next, r.Header.Get("Idempotency-Key"))
	} else {
		next.Header.Set("Accept", "*/*")
		next.Header.Set("User-Agent", "countersign")
	}
	return next, ""
}

// sameOperator reports whether a place is the one the operator wrote: same host and port, or the step from http to
// https on the usual ports.
func sameOperator(written, target *url.URL) bool {
	if !strings.EqualFold(written.Hostname(), target.Hostname()) {
		return false
	}
	return written.Scheme == target.Scheme && port(written) == port(target) ||
		written.Scheme == "http" && target.Scheme == "https" && port(written) == "80" && port(target) == "443"
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// unanswered says what is known about a call without an answer. It names the host and nothing else of the URL. Its
// error wraps agent.ErrOutcomeUnknown.
func (x *exchange) unanswered(ctx context.Context, err error) (string, error) {
	host := oneline.Of(x.host, 200)
	if refused, ok := errors.AsType[*addressError](err); ok {
		return fmt.Sprintf("The redirect to %s was not followed: %s.", host, refused), nil
	}
	problem := x.problem(ctx, err)
	switch {
	case !x.sent.Load():
		return fmt.Sprintf("%s could not be reached: %s. Nothing was sent.", host, problem), nil
	case x.tool.reads():
		return fmt.Sprintf("%s was called, but no answer came: %s. The call may be repeated.", host, problem), nil
	}
	return "", fmt.Errorf(
		"%w: the request was sent to %s, but no answer came: %s", agent.ErrOutcomeUnknown, host, problem)
}

// refused is the error for a call that was sent, lost its answer, and was refused when it was sent again.
func (x *exchange) refused(ctx context.Context, lost error, res *http.Response) error {
	return fmt.Errorf("%w: the request was sent to %s, but no answer came: %s; sent again, it was answered %s, "+
		"which says nothing about the first", agent.ErrOutcomeUnknown, oneline.Of(x.host, 200), x.problem(ctx, lost),
		x.tool.hidden.Hide(statusLine(res)))
}

// problem is the text of a network error, with no secret in it.
func (x *exchange) problem(ctx context.Context, err error) string {
	if context.Cause(ctx) == errTimeout {
		return "timed out after " + x.tool.Timeout.Round(time.Millisecond).String()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return oneline.Of(x.tool.redact.Replace(err.Error()), 200)
}

func hostOf(u *url.URL) string { return oneline.Of(u.Host, 200) }
