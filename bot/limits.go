package bot

import (
	"fmt"
	"sync"
	"time"

	"countersign/approvals"
)

// limits remembers how long Slack wants each method left alone. Slack counts calls per method and workspace and says in
// Retry-After how long to wait (https://docs.slack.dev/apis/web-api/rate-limits); asking sooner is sent away again.
type limits struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func newLimits() *limits { return &limits{until: map[string]time.Time{}} }

// call makes a call of the method. When Slack sends it away, or did so before and the wait is not over, the error is a
// *approvals.RetryError.
func (l *limits) call(method string, call func() error) error {
	if wait := l.left(method); wait > 0 {
		return &approvals.RetryError{After: wait, Err: fmt.Errorf("call %s: Slack asked to wait", method)}
	}
	err := call()
	after, limit := limited(err)
	if !limit {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until[method] = time.Now().Add(after)
	return &approvals.RetryError{After: after, Err: fmt.Errorf("call %s: %w", method, err)}
}

func (l *limits) left(method string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until[method])
}
