package approvals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// twoThenThird is a model that makes two payments at once, and a third one when it has heard of both.
func twoThenThird(req *agent.ModelRequest) ([]agent.Item, error) {
	switch len(outputs(req)) {
	case 0:
		return []agent.Item{call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)}, nil
	case 2:
		return []agent.Item{call("c3", "pay", `{"amount":3}`)}, nil
	}
	return []agent.Item{agent.AssistantMessage("done")}, nil
}

// paidEach returns how often the payments of 1, 2 and 3 were made.
func (b *bench) paidEach() (n [3]int) {
	for _, e := range b.effects.all() {
		for i := range n {
			if e.arguments == fmt.Sprintf(`{"amount":%d}`, i+1) {
				n[i]++
			}
		}
	}
	return n
}

// TestOrderOfAnswersWhateverTheClock has two people answer the two calls that wait, and somebody set the clock back by
// an hour in between, or forward. What was said last for all calls of the tool holds for the third one.
func TestOrderOfAnswersWhateverTheClock(t *testing.T) {
	t.Parallel()
	type answer struct {
		at      int // which call
		verdict approvals.Verdict
	}
	for name, tt := range map[string]struct {
		first, second answer
		paid          [3]int
		doubted       bool
	}{
		"all allowed, then all rejected": {
			answer{1, approvals.AlwaysApprove}, answer{0, approvals.AlwaysReject}, [3]int{0, 1, 0}, false,
		},
		"all rejected, then all allowed": {
			answer{0, approvals.AlwaysReject}, answer{1, approvals.AlwaysApprove}, [3]int{0, 1, 1}, false,
		},
		"one allowed, then all rejected": {
			answer{1, approvals.Approve}, answer{0, approvals.AlwaysReject}, [3]int{0, 1, 0}, false,
		},
		"all allowed, then one rejected": {
			answer{1, approvals.AlwaysApprove}, answer{0, approvals.Reject}, [3]int{0, 1, 1}, true,
		},
	} {
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			for _, passes := range []time.Duration{0, 2 * time.Hour} {
				t.Run(fmt.Sprintf("%s/%s and %s pass", name, by, passes), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					st := &later{Store: b.store}
					st.by.Store(int64(ahead))
					b.serve(st)
					b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
						q := lenient()
						q.ValidFor, q.ExpiresIn = 0, 0
						switch string(r.Arguments) {
						case `{"amount":1}`:
							askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
						case `{"amount":2}`:
							askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob}})
						}
						return q, nil
					})
					b.model(model(twoThenThird))
					b.start()
					id := b.submit()
					b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
					b.reaches(id, approvals.RunWaiting)
					b.stop()
					both := b.pending(id)
					who := []approvals.UserID{cara, bob}
					b.must(both[tt.first.at], who[tt.first.at], tt.first.verdict, "as I say")
					st.by.Add(int64(by))
					b.must(both[tt.second.at], who[tt.second.at], tt.second.verdict, "as I say")
					st.by.Add(int64(passes))
					b.start()
					b.until("the end, or a question", func() bool {
						return b.run(id).Status.Ended() || b.run(id).Status == approvals.RunWaiting
					})
					b.stop()
					want, waiting := tt.paid, 0
					if tt.doubted && by < 0 && passes == 0 { // the answer seems to come from the future
						want[2], waiting = 0, 1
					}
					if got := b.paidEach(); got != want {
						t.Errorf("paid %v, want %v", got, want)
					}
					b.trail()
					if n := len(b.pending(id)); n != waiting {
						t.Errorf("%d calls wait, want %d", n, waiting)
					}
				})
			}
		}
	}
}

// TestAllRejectedWhileACallUnderAGrantIsOnItsWay has somebody reject all calls of a tool while an agent inside is about
// to make the next one, which a grant covers that was given before.
func TestAllRejectedWhileACallUnderAGrantIsOnItsWay(t *testing.T) {
	t.Parallel()
	for _, verdict := range []approvals.Verdict{approvals.AlwaysReject, approvals.Reject} {
		b := newBench(t)
		b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
			q := generous()
			if string(r.Arguments) == `{"amount":100}` { // no answer of one person covers it
				q.Policy = "large"
				quorum(&q, 2)
			}
			return q, nil
		})
		var large *approvals.Request
		inside := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			told, isLarge := outputs(req), strings.Contains(req.Items[0].Text, "large")
			switch {
			case isLarge && len(told) == 0:
				return []agent.Item{call("n1", "pay", `{"amount":100}`)}, nil
			case isLarge, len(told) == 2:
				return []agent.Item{agent.AssistantMessage("done inside")}, nil
			case len(told) == 0:
				return []agent.Item{call("n1", "pay", `{"amount":1}`)}, nil
			}
			b.must(large, cara, verdict, "no more")
			return []agent.Item{call("n2", "pay", `{"amount":2}`)}, nil
		})
		finance := &agent.Agent{Name: "finance", Tools: b.tools(), Model: inside}
		b.agent(asks(
			call("c1", "ask_finance", `{"input":"small"}`), call("c2", "ask_finance", `{"input":"large"}`),
		), finance.AsTool("ask_finance", "Ask finance."))
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		b.reaches(id, approvals.RunWaiting)
		small := b.pending(id)[0]
		large = b.pending(id)[1]
		if string(small.Arguments) != `{"amount":1}` {
			small, large = large, small
		}
		err := b.grant(small, bob, approvals.AlwaysApprove, approvals.GrantTerms{
			Scope: approvals.ScopeThread, TTL: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.reaches(id, approvals.RunDone)
		want := [3]int{1, 1, 0}
		if verdict == approvals.AlwaysReject {
			want = [3]int{1, 0, 0}
		}
		if got := b.paidEach(); got != want {
			t.Errorf("%s: paid %v, want %v", verdict, got, want)
		}
	}
}

// TestOverruledByAnAnswerThatWentStale: two people allow all calls of a tool, one after the other, and the tool changes
// before any runs. Both answers are stale, and the trail agrees that the later one had taken the place of the other.
func TestOverruledByAnAnswerThatWentStale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob}})
		if string(r.Arguments) == `{"amount":1}` {
			askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
		}
		return q, nil
	})
	b.model(model(twoThenThird))
	b.start()
	id := b.submit()
	b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
	b.reaches(id, approvals.RunWaiting)
	b.stop()
	both := b.pending(id)
	b.must(both[0], cara, approvals.AlwaysApprove, "")
	b.must(both[1], bob, approvals.AlwaysApprove, "")
	tools := b.tools()
	tools[0].Version = "2"
	b.agent(model(twoThenThird), tools...)
	b.start()
	b.until("both questions anew", func() bool { return len(b.pending(id)) == 2 })
	first, second := b.request(both[0].ID), b.request(both[1].ID)
	if first.Overruled != second.ID || second.Status != approvals.RequestStale {
		t.Fatalf("the first is overruled by %q, the second is %s", first.Overruled, second.Status)
	}
	b.trail()
}
