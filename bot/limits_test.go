package bot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestQuestionsGetTurns: somebody answers card after card, four at a time, more often than Slack takes users.info. Once
// Slack has said so, hardly a question is left without an answer within the time that a click has. Without turns there
// would be none after each 429, until Slack takes calls again.
func TestQuestionsGetTurns(t *testing.T) {
	t.Parallel()
	for name, minute := range map[string]time.Duration{"a minute": time.Minute, "a short minute": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slack := rationed{calls: map[string][]time.Time{}}
				limit, window := map[string]int{"": 100}, map[string]time.Duration{"": minute}
				m := &memory{answer: func(string, url.Values) string {
					time.Sleep(20 * time.Millisecond) // the way to Slack
					if wait := slack.call(limit, window); wait > 0 {
						return fmt.Sprint("429 ", int(wait.Seconds()))
					}
					return `{"ok":true,"user":{"id":"U0BEN","team_id":"T0DEV"}}`
				}}
				c := m.client(t)
				asked, unanswered, longest := 0, 0, time.Duration(0)
				for began := time.Now(); time.Since(began) < 6*minute; {
					learnt := time.Since(began) > 2*minute
					var four sync.WaitGroup
					var mu sync.Mutex
					for range 4 {
						four.Go(func() {
							since := time.Now()
							_, err := c.Person(t.Context(), user("U0BEN"), since)
							mu.Lock()
							defer mu.Unlock()
							if learnt {
								asked++
							}
							if err == nil {
								longest = max(longest, time.Since(since))
							} else if learnt {
								unanswered++
							}
						})
					}
					four.Wait()
					time.Sleep(50 * time.Millisecond) // and people go on at once, also when they have no answer
				}
				t.Logf("%d questions, %d without an answer, the longest took %s, %d answers of 429", asked, unanswered,
					longest, slack.refused)
				if asked < 500 || unanswered > asked/20 || slack.refused > 4 || longest > decideBudget {
					t.Error("too many, or too long")
				}
			})
		})
	}
}

// TestNoTurnTooFarAway: where turns are further away than a click has time, the question is sent away at once, and its
// turn is not lost for those who come in time.
func TestNoTurnTooFarAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(noReplicas)
		later := func(err error) time.Duration {
			retry, ok := errors.AsType[*approvals.RetryError](err)
			if !ok {
				return 0
			}
			return retry.After
		}
		calls := 0
		ok := func() error { calls++; return nil }
		l.done(methodUserInfo, time.Now(), 5*time.Second, false)
		for range 3 {
			if err := l.call(t.Context(), methodUserInfo, ok); later(err) != 5*time.Second || calls > 0 {
				t.Errorf("while Slack asks to wait: %v, %d calls", err, calls)
			}
		}
		if err := l.call(t.Context(), methodMembers, ok); err != nil || calls != 1 {
			t.Errorf("another method: %v, %d calls", err, calls)
		}
		time.Sleep(5*time.Second - mostTurn)
		began := time.Now()
		if err := l.call(t.Context(), methodUserInfo, ok); err != nil || time.Since(began) != mostTurn {
			t.Errorf("a turn within reach: %v after %s", err, time.Since(began))
		}
		began = time.Now()
		if err := l.call(t.Context(), methodUserInfo, ok); err != nil || time.Since(began) != firstDistance {
			t.Errorf("the turn behind it: %v after %s", err, time.Since(began))
		}
	})
}

// noReplicas is of a process that has nobody beside it.
func noReplicas() int { return 1 }

// TestReplicasShareWhatMayWait: of the half that is for questions that may be put off each process takes its share, the
// one that is left when the others have gone all of it.
func TestReplicasShareWhatMayWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replicas := 3
		l, work := newLimits(func() int { return replicas }), approvals.WithPatience(t.Context(), true)
		asked := 0
		many := func() {
			for range rations[methodUserInfo] {
				_ = l.call(work, methodUserInfo, func() error { asked++; return nil }) // put off, or not
			}
		}
		many()
		if want := rations[methodUserInfo] / 2 / replicas; asked != want {
			t.Errorf("one of three asks %d questions a minute, want %d", asked, want)
		}
		replicas = 1
		many()
		if want := rations[methodUserInfo] / 2; asked != want {
			t.Errorf("alone it asks %d, want %d", asked, want)
		}
		replicas = 1000
		time.Sleep(2 * time.Minute)
		asked = 0
		if many(); asked != 1 {
			t.Errorf("one of very many asks %d, want 1", asked)
		}
	})
}

// TestWorkLeavesRoomToDecisions: of what Slack answers in a minute, questions that may be put off take half, also those
// that fail; those of people who decide take the rest, also where they find such a question under way. They in turn
// take nothing from that half.
func TestWorkLeavesRoomToDecisions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, work := newLimits(noReplicas), approvals.WithPatience(t.Context(), true)
		asked := 0
		ask := func() error {
			if asked++; asked%2 == 0 {
				return errors.New("no such person")
			}
			return nil
		}
		for range rations[methodUserInfo] {
			err := l.call(work, methodUserInfo, ask)
			later, putOff := errors.AsType[*approvals.RetryError](err)
			if putOff && (!errors.Is(err, errMakesRoom) || (later.After-time.Minute).Abs() > 10*time.Second) {
				t.Fatalf("%v, in %s", err, later.After)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if asked != rations[methodUserInfo]/2 {
			t.Errorf("%d questions without hurry are asked", asked)
		}
		for range rations[methodUserInfo] / 2 {
			before := asked
			if err := l.call(t.Context(), methodUserInfo, ask); asked != before+1 {
				t.Fatalf("somebody who decides: %v", err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(12 * time.Second)
		before := asked
		if err := l.call(work, methodUserInfo, ask); asked != before+1 {
			t.Errorf("a minute later: %v", err)
		}

		answers := newCache[int](time.Minute, 10)
		var both sync.WaitGroup
		both.Go(func() {
			_, err := answers.get(work, "ann", time.Time{}, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return 0, errMakesRoom
			})
			if !errors.Is(err, errMakesRoom) {
				t.Errorf("work: %v", err)
			}
		})
		synctest.Wait()
		both.Go(func() {
			seven := func(context.Context) (int, error) { return 7, nil }
			got, err := answers.get(t.Context(), "ann", time.Time{}, seven)
			if err != nil || got != 7 {
				t.Errorf("somebody who decides joins it: %d, %v", got, err)
			}
		})
		both.Wait()
	})
}
