package bot

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"countersign/approvals"
)

// mostTurn is how long a question of the directory waits for its turn. A click has decideBudget for all its questions.
const mostTurn = time.Second

// comeBack is within how long those who have waited for long come back.
const comeBack = 5 * time.Second

// rations are how many calls of a method of the directory Slack takes within countedFor, in the whole workspace, as the
// pages of the methods below https://docs.slack.dev/reference/methods say.
var rations = map[string]int{
	methodUserInfo: 100, methodMembers: 100,
	methodChannelInfo: 50, methodPlaces: 50,
	methodUsers: 20, methodGroups: 20, methodGroupUsers: 20, methodTeams: 20,
}

// limits keeps questions of the directory within what Slack takes. Slack counts calls per method and workspace and says
// in Retry-After how long to leave the method alone (https://docs.slack.dev/apis/web-api/rate-limits): asking sooner is
// sent away again. Once it has said so, questions get turns at the distance that the calls before speak of, as posts
// do: see pacing. A person who waits a moment for a turn is better served than one whose click is not confirmed.
//
// Questions that may be put off (approvals.WithPatience) take at most half of each ration, whatever becomes of them: a
// thousand mentions at once would otherwise keep people from deciding for minutes. Replicas share that half.
type limits struct {
	replicas func() int
	mu       sync.Mutex
	lanes    map[string]*lane       // by method
	patient  map[string][]time.Time // when questions were put within countedFor that may be put off, by method
}

func newLimits(replicas func() int) *limits {
	return &limits{replicas: replicas, lanes: map[string]*lane{}, patient: map[string][]time.Time{}}
}

var (
	errAskedToWait = errors.New("asked by Slack to wait")
	// errMakesRoom is of a question that is put off for others. One that is not patient is asked all the same.
	errMakesRoom = errors.New("others come first")
)

// call makes a call of the method in its turn. When that is more than mostTurn away, or Slack sends the call away, the
// error is a *approvals.RetryError.
func (l *limits) call(ctx context.Context, method string, call func() error) error {
	take, again, why := l.turn, l.left, errAskedToWait // again: Slack may have sent another one away meanwhile
	if approvals.Patient(ctx) {
		take, again, why = l.patientTurn, l.patientTurn, errMakesRoom
	}
	wait := take(method)
	if 0 < wait && wait <= mostTurn {
		if !sleep(ctx, wait) {
			return fmt.Errorf("call %s: %w", method, context.Cause(ctx))
		}
		wait = again(method)
	}
	if wait > 0 {
		return &approvals.RetryError{After: wait, Err: fmt.Errorf("call %s: %w", method, why)}
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
	at := latest(latest(of.next, of.until), now)
	wait := at.Sub(now)
	if wait <= mostTurn {
		of.next = at.Add(of.distance.gap)
	}
	return wait
}

// patientTurn takes a turn that leaves enough to others, or returns how far away the next one is. Those who wait for
// long do not all come back at once.
func (l *limits) patientTurn(method string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, of := time.Now(), l.lane(method)
	wait := latest(latest(of.next, of.until), l.room(method, now)).Sub(now)
	switch {
	case wait <= 0:
		of.next = now.Add(of.distance.gap)
		l.patient[method] = append(l.patient[method], now)
		return 0
	case wait > mostTurn:
		wait += rand.N(comeBack)
	}
	return wait
}

// room is when there is room for another patient question. l.mu is held.
func (l *limits) room(method string, now time.Time) time.Time {
	const counted = countedFor + time.Second // not every call takes as long to arrive at Slack
	put, most := l.patient[method], rations[method]/2
	if most > 0 {
		most = max(most/max(l.replicas(), 1), 1)
	}
	for len(put) > 0 && now.Sub(put[0]) >= counted {
		put = put[1:]
	}
	if l.patient[method] = put; most == 0 || len(put) < most {
		return now
	}
	return put[len(put)-most].Add(counted)
}

// full reports whether a question would have to wait.
func (l *limits) full(ctx context.Context, method string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.lane(method).until.After(now) || approvals.Patient(ctx) && l.room(method, now).After(now)
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
