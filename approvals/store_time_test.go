package approvals_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// aheadOf is a process on a store whose clock is ahead of the process's own by so much.
func aheadOf(t *testing.T, ahead time.Duration) *cluster {
	t.Helper()
	data := storetest.NewMemory()
	data.Step(ahead)
	return newClusterOn(t, data, 1, storetest.Chaos{})
}

// TestEscalationCallsByTheStoresTime: who may answer from an instant on is called at that instant, also where this
// process's clock says that it has not come.
func TestEscalationCallsByTheStoresTime(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"an hour ahead": time.Hour, "control: the same": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := aheadOf(t, ahead)
				b := c.bench
				dan := withDan(b)
				b.policy.always(escalating(1, 30*time.Minute))
				b.model(asks(call("c1", "pay", `{"amount":5}`)))
				b.submit()
				time.Sleep(29 * time.Minute)
				r := c.pending()[0]
				if isCalled(r, dan) {
					t.Errorf("dan is called before his time: %+v", r.Called)
				}
				time.Sleep(2 * time.Minute)
				if r = c.pending()[0]; r.Escalated.IsZero() || !isCalled(r, dan) {
					t.Errorf("escalated at %s, called: %+v", r.Escalated, r.Called)
				}
				c.stop()
			})
		})
	}
}

func isCalled(r *approvals.Request, u approvals.UserID) bool {
	return slices.Contains(r.Called.Users, u) || slices.Contains(r.Called.Copies, approvals.CopyFor(u))
}

// TestStandingAnswerOfADelegateEndsByTheStoresTime: dan's answer for bob, for all calls of the run, stands for a call
// of the time in which he is bob's delegate. When that has ended people are asked, also where this process's clock says
// that it has not.
func TestStandingAnswerOfADelegateEndsByTheStoresTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ahead time.Duration
		asked bool
	}{
		"ended for the store":     {24*time.Hour - 10*time.Minute, true},
		"control: still in force": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := aheadOf(t, tt.ahead)
				b := c.bench
				dan := withDan(b)
				q := named(1, bob)
				q.Always = []approvals.Scope{approvals.ScopeRun}
				b.policy.always(q)
				b.policy.delegates(onLeave(dan, bob)...)
				b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
					switch len(outputs(req)) {
					case 0:
						return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
					case 1:
						time.Sleep(20 * time.Minute)
						return []agent.Item{call("c2", "pay", `{"amount":6}`)}, nil
					}
					return []agent.Item{agent.AssistantMessage("Paid.")}, nil
				}))
				b.submit()
				time.Sleep(time.Minute)
				b.must(c.pending()[0], dan, approvals.AlwaysApprove, "")
				time.Sleep(30 * time.Minute)
				asked, ran := len(c.pending()) == 1, len(b.effects.all())
				if asked != tt.asked || ran != 2 && !asked || ran != 1 && asked {
					t.Errorf("people are asked about the second call: %v; %d calls ran", asked, ran)
				}
				c.stop()
			})
		})
	}
}

// TestDeliveryIsGivenUpByTheStoresTime: Slack is away for forty minutes. What could not be delivered is not given up
// for that, also where this process's clock says that it has waited for more than a day.
func TestDeliveryIsGivenUpByTheStoresTime(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"25 hours behind": -25 * time.Hour, "control: the same": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := aheadOf(t, ahead)
				b := c.bench
				tries, away := 0, time.Now().Add(40*time.Minute)
				b.surface.intercept = func(*approvals.Notification) error {
					if tries++; time.Now().Before(away) {
						return errors.New("Slack is away")
					}
					return nil
				}
				b.model(asks(call("c1", "pay", `{"amount":5}`)))
				b.submit()
				time.Sleep(50 * time.Minute)
				if r := c.pending()[0]; len(r.Cards) != 1 || tries < 25 {
					t.Errorf("%d cards after %d tries", len(r.Cards), tries)
				}
				c.view(func(tx approvals.Tx) error {
					letters, err := tx.DeadLetters(ws, "", 10)
					if len(letters) > 0 {
						t.Errorf("given up: %+v", letters[0])
					}
					return err
				})
				c.stop()
			})
		})
	}
}

// TestFreezeExceptsWhoFillsInByTheStoresTime: cara, whom a group excepts from a freeze, fills a call in. It runs, also
// where the freeze is far away by this process's clock.
func TestFreezeExceptsWhoFillsInByTheStoresTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := aheadOf(t, 5*time.Hour)
		b := c.bench
		b.people.setGroup("S1", cara)
		q := frozen(3*time.Hour, 9*time.Hour)
		q.Freeze[0].Except, q.ExpiresIn = approvals.Approvers{Groups: []string{"S1"}}, 24*time.Hour
		b.policy.always(q)
		b.agent(books(`{"table":"t1"}`), b.book())
		b.submit()
		time.Sleep(time.Second)
		if _, err := b.fill(c.pending()[0], cara, `{"date":"d","guests":1}`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("the call ran %d times; pending: %d", n, len(c.pending()))
		}
		c.stop()
	})
}
