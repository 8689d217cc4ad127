package openaimodel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"countersign/agent"
)

const (
	firstWait = 500 * time.Millisecond
	maxWait   = 8 * time.Second
	// maxAdapted is how often one call is written anew for what the server refuses: there are four things to leave out.
	maxAdapted = 4
)

// ask repeats the call while its fault may pass and the budget lasts. Nothing of a failed attempt is kept, so repeating
// one is harmless: the runner records a turn when it has the whole of it. Three kinds are not repeated: whoever listens
// has heard a part of the answer, the server may have taken the turn into a conversation that it keeps, and it may have
// carried out a call that people approved.
func (m *Model) ask(
	ctx context.Context, req *agent.ModelRequest, stream bool, l *listener,
) (*agent.ModelResponse, error) {
	start := time.Now()
	adapted := 0
	for n := 1; ; n++ {
		answer, failure := m.once(ctx, req, stream, l, min(m.cfg.Timeout, m.cfg.Budget-time.Since(start)))
		if failure == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ask the model: %w", context.Cause(ctx))
		}
		failure.Attempts = n
		if adapted < maxAdapted && failure.Status != 0 && m.api.adapt(failure) {
			adapted++
			continue
		}
		failure.said = ""
		if failure.retry && failure.accepted && req.Conversation != "" {
			failure.retry = false
			failure.hint = "the conversation that the server keeps may have got the turn nevertheless"
		}
		if failure.retry && !failure.untaken && len(req.OpenApprovals()) > 0 {
			failure.retry = false
			failure.hint = "a call of an MCP server that was approved may have been carried out nevertheless"
		}
		wait := backoff(n, failure.after)
		if !failure.retry || l.told || n >= m.cfg.MaxAttempts || time.Since(start)+wait >= m.cfg.Budget {
			return nil, failure
		}
		if err := m.pause(ctx, n, wait, failure); err != nil {
			return nil, err
		}
	}
}

// once makes one attempt that lasts no longer than limit without a sign of life.
func (m *Model) once(
	ctx context.Context, req *agent.ModelRequest, stream bool, l *listener, limit time.Duration,
) (*agent.ModelResponse, *Error) {
	watched, dog, stop := newWatchdog(ctx, limit)
	defer stop()
	answer, res, err := m.exchange(watched, req, stream, l, dog.feed)
	if err == nil {
		return answer, nil
	}
	if context.Cause(watched) == errSilent {
		err = fmt.Errorf("%w (%s)", errSilent, limit.Round(time.Millisecond))
	}
	return nil, m.failure(req, res, err)
}

func (m *Model) pause(ctx context.Context, n int, wait time.Duration, failure *Error) error {
	m.cfg.Logger.WarnContext(ctx, "model call failed, trying again",
		"attempt", n, "wait", wait, "status", failure.Status, "code", failure.Code, "error", failure)
	if m.cfg.OnRetry != nil {
		m.cfg.OnRetry(n, wait, failure)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ask the model: %w", context.Cause(ctx))
	}
}

// backoff is the wait after the n-th attempt: what the server asked for, or half a second doubling to eight, less up
// to a quarter so that many runs do not come back at the same moment.
func backoff(n int, after time.Duration) time.Duration {
	if after > 0 {
		return after
	}
	wait := maxWait
	if n < 10 {
		wait = min(firstWait<<(n-1), maxWait)
	}
	return wait - rand.N(wait/4)
}

// retryAfter reads how long the server wants to be left alone; zero when it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// seconds converts without overflowing: more than a day is a day.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 86_400) * float64(time.Second))
}
