package bot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"countersign/approvals"
)

// mostTurn is how long a question of the directory waits for its turn. A click has decideBudget for all its questions.
const mostTurn = time.Second

// limits keeps questions of the directory within what Slack takes. Slack counts calls per method and workspace and says
// in Retry-After how long to leave the method alone (https://docs.slack.dev/apis/web-api/rate-limits): asking sooner is
// sent away again. Once it has said so, questions get turns at the distance that the calls before speak of, as posts
// do: see pacing. A person who waits a moment for a turn is better served than one whose click is not confirmed.
type limits struct {
	mu    sync.Mutex
	lanes map[string]*lane // by method
}

func newLimits() *limits { return &limits{lanes: map[string]*lane{}} }

// call makes a call of the method in its turn. When that is more than mostTurn away, or Slack sends the call away, the
// error is a *approvals.RetryError.
func (l *limits) call(ctx context.Context, method string, call func() error) error {
	wait := l.turn(method)
	if 0 < wait && wait <= mostTurn {
		if !sleep(ctx, wait) {
			return fmt.Errorf("call %s: %w", method, context.Cause(ctx))
		}
		wait = l.left(method) // Slack may have sent another one away meanwhile
	}
	if wait > 0 {
		return &approvals.RetryError{After: wait, Err: fmt.Errorf("call %s: Slack asked to wait", method)}
	}
	began := time.Now()
	err := call()
	after, limit := limited(err)
	l.done(method, began, after, err == nil)
	if limit {
		return &approvals.RetryError{After: after, Err: fmt.Errorf("call %s: %w", method, err)}
	}
	return err
}

// turn takes the next turn and returns how far away it is; one that is more than mostTurn away is not taken.
func (l *limits) turn(method string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, of := time.Now(), l.lane(method)
	at := of.next
	if of.until.After(at) {
		at = of.until
	}
	if now.After(at) {
		at = now
	}
	wait := at.Sub(now)
	if wait <= mostTurn {
		of.next = at.Add(of.distance.gap)
	}
	return wait
}

// left is how long Slack wants the method left alone.
func (l *limits) left(method string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.lane(method).until)
}

// done notes how a call went that began then: after is what Slack asked to wait, if it did.
func (l *limits) done(method string, began time.Time, after time.Duration, worked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now := time.Now(); {
	case after > 0:
		l.lane(method).refused(began, now, after)
	case worked:
		l.lane(method).worked(began, now)
	}
}

// lane returns what is known of the method. l.mu is held.
func (l *limits) lane(method string) *lane {
	of, ok := l.lanes[method]
	if !ok {
		of = &lane{distance: new(distance)}
		l.lanes[method] = of
	}
	return of
}
